#include "compare/model_difference.hpp"

#include <utility>
#include <vector>

#include "compare/content_matching.hpp"
#include "os/fault_handler.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::compare {

namespace {

// Calls work() below guards of both models.
template <class Work>
void guard_both(const TwoDocuments& documents, Work&& work) {
    os::renew_fault_handler();
    source::guard_reads(documents.a.source(),
                        [&] { source::guard_reads(documents.b.source(), [&] { work(); }); });
}

std::vector<onnx::Message> messages_of(const std::vector<UnmatchedTensor>& tensors) {
    std::vector<onnx::Message> messages;
    messages.reserve(tensors.size());
    for (const UnmatchedTensor& tensor : tensors) messages.push_back(tensor.message);
    return messages;
}

}  // namespace

ModelDifference::ModelDifference(DocumentPtr a, DocumentPtr b, const Options& options)
    : a_(std::move(a)),
      b_(std::move(b)),
      documents_{*a_, *b_, a_->check_for_changes(), b_->check_for_changes(), options},
      walk_(documents_, found_) {
    if (a_ == b_) return;
    guard_both(documents_, [&] { walk_.run(); });
    for (const TensorJob& job : walk_.jobs()) nbytes_ += job.bytes.a.nbytes;
}

Differences ModelDifference::finish(std::atomic<std::uint64_t>& done) {
    std::vector<TensorJob>& jobs = walk_.jobs();
    std::vector<BytePair> pairs;
    pairs.reserve(jobs.size());
    for (const TensorJob& job : jobs) pairs.push_back(job.bytes);
    guard_both(documents_, [&] {
        compare_bytes(pairs, done);
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            if (pairs[i].equal) continue;
            const model::Tensor in_a(*a_, jobs[i].a);
            const model::Tensor in_b(*b_, jobs[i].b);
            walk_.finish(jobs[i], compare_values(documents_, in_a, in_b, true));
        }
        const auto& only_in_a = walk_.only_in_a();
        const auto& only_in_b = walk_.only_in_b();
        const auto messages_a = messages_of(only_in_a);
        const auto messages_b = messages_of(only_in_b);
        for (const auto& [i, j] : match_by_content(documents_, messages_a, messages_b)) {
            walk_.report_renamed(only_in_a[i], only_in_b[j]);
        }
    });
    // A file that was cut within a page, or written to, has other bytes without a fault.
    const source::Timestamp now = source::now();
    a_->store().check_after_reading(a_->source(), now);
    b_->store().check_after_reading(b_->source(), now);
    walk_.check_again();
    std::erase_if(found_.items, [](const Item& item) { return !item.is_difference(); });
    return std::move(found_);
}

}  // namespace onnxmap::compare
