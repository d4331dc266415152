#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A failed system call.
struct SystemFailure: Error, CustomStringConvertible {
  let operation: String
  let path: String
  let errno: Int32

  init(_ operation: String, _ path: String, errno: Int32 = currentErrno()) {
    self.operation = operation
    self.path = path
    self.errno = errno
  }

  var description: String { "\(operation)(\(path)): \(String(cString: strerror(errno))) (errno \(errno))" }
}

/// `errno` of this thread, read before anything else can change it.
func currentErrno() -> Int32 { errno }

extension GarageError {
  static func openingFailed(_ directory: String, _ failure: SystemFailure) -> GarageError {
    switch failure.errno {
    case ELOOP:
      GarageError(
        .linkedFile,
        """
        \(failure.path) is a symbolic link. A garage does not follow links in the place of its files: put the file \
        itself there, or give the directory that it leads to. Nothing was changed.
        """, underlying: failure)
    case EINVAL where ["open", "lstat"].contains(failure.operation):
      GarageError(
        .linkedFile, "\(failure.path) is not a file. Move it away, and open the garage again. Nothing was changed.",
        underlying: failure)
    case ENOTDIR, EEXIST:
      GarageError(
        .invalidStore, "\(directory) is not a directory. Give the URL of a directory, or of one that can be made.",
        underlying: failure)
    case EACCES, EPERM:
      GarageError(
        .storageFailed,
        "The garage in \(directory) cannot be opened: no permission. Give this user read and write access.",
        underlying: failure)
    default:
      GarageError(
        .storageFailed,
        "The garage in \(directory) cannot be opened: \(String(cString: strerror(failure.errno))). Correct that, and open "
          + "it again.", underlying: failure)
    }
  }
}
