/// The trial cannot continue, or the cache lost something.
struct FullDiskFailure: Error, CustomStringConvertible {
  let message: String
  var description: String { message }
}
