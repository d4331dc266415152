/// Why the trial cannot go on, or what the cache did not keep.
struct FullDiskFailure: Error, CustomStringConvertible {
  let message: String
  var description: String { message }
}
