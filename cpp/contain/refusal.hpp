// The reason why a file that may exist is not opened. The caller chooses the text of the error.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace onnxmap::contain {

enum class Refusal {
    leads_outside,   // a symbolic link ends outside the folders
    is_link,         // the path contains a symbolic link, and none may be followed
    has_hard_links,  // the file has another name, which may be outside
    not_regular,     // a FIFO, a socket, a device, a file of /proc
    being_replaced,  // another file had the name a moment ago
};

class Refused : public std::runtime_error {
  public:
    Refused(Refusal reason_, std::string path_)
        : std::runtime_error("refused"), reason(reason_), path(std::move(path_)) {}

    Refusal reason;
    std::string path;
};

}  // namespace onnxmap::contain
