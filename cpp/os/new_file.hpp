// A file that is being written under a temporary name, and gets its name when it is complete.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.hpp"
#include "os/descriptor.hpp"
#include "os/file.hpp"
#include "os/output_folder.hpp"
#include "os/sink.hpp"

namespace onnxmap::os {

/// All functions throw FileError with the path of the file that is to be, not of the temporary one.
class NewFile final : public Sink {
  public:
    /// The end of a temporary name: `.NAME.XXXXXXXX.onnxmap-tmp`.
    static constexpr std::string_view kTemporary = ".onnxmap-tmp";

    /// Makes the temporary file. `replaced` is the regular file whose permissions it gets, and also
    /// its ACL, its other attributes, its owner and its group if this process may set them. Without
    /// one, its permissions are those of any new file.
    NewFile(std::shared_ptr<const OutputFolder> folder, std::string name, std::string path,
            std::optional<FileStatus> replaced);
    /// Removes the temporary file, unless it has its name.
    ~NewFile() override;

    /// Adds bytes at the end.
    void write(ByteView bytes) override;

    /// Adds bytes of another file, from `offset` on. Returns how many; 0 if this is not possible.
    /// Then a read or a write tells the reason. Throws Stopped.
    [[nodiscard]] std::uint64_t copy(const File& file, std::uint64_t offset,
                                     std::uint64_t nbytes) override;

    /// Adds zeros, of which the file system stores few or none. False if it has added nothing.
    [[nodiscard]] bool skip(std::uint64_t nbytes) override;

    /// Ends writing, and waits until the disk has the bytes if `sync`. A sync that failed must not
    /// be repeated, since the system has forgotten the error and maybe the bytes.
    void finish(bool sync);

    /// The identity of the file, after finish(). Its names do not change it.
    [[nodiscard]] const FileIdentity& identity() const noexcept { return identity_; }

    /// Gives the file its name, after finish(): replaces what has the name, or throws EEXIST.
    void replace();
    void take_new_name();

  private:
    [[nodiscard]] bool read_and_write(const File& file, std::uint64_t offset, std::uint64_t nbytes,
                                      std::uint64_t position) const;
    void set_permissions();
    [[nodiscard]] bool set_list(const std::string& list, bool has_group);
    void set_mode(unsigned permissions);

    std::shared_ptr<const OutputFolder> folder_;
    std::string name_;
    std::string path_;
    std::string temporary_;  // empty: the file has its name
    std::optional<FileStatus> replaced_;
    FileIdentity identity_;
    int descriptor_ = -1;
};

}  // namespace onnxmap::os
