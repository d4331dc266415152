#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A failed system call, or a file that is not what it has to be.
package struct SystemError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
  /// What was found where something else has to be. The system has no error number for these; ``errno`` is the nearest.
  package enum Finding: Hashable, Sendable {
    /// A link, a FIFO or another kind in the place of a regular file.
    case kind(FileKind)
    /// The file has so many names: it is somebody else's, too.
    case names(Int)
    /// The file has more bytes than its reader is ready to take.
    case tooLarge(limit: Int)
    /// The name is not one of a file in a directory: it is empty, `.`, `..`, or has a slash or a NUL in it.
    case name
  }

  /// The C function.
  package let operation: String
  package let path: String
  package let errno: Int32
  package let finding: Finding?

  package init(_ operation: String, _ path: String, errno: Int32 = currentErrno()) {
    self.operation = operation
    self.path = path
    self.errno = errno
    finding = nil
  }

  init(_ operation: String, _ path: String, _ finding: Finding) {
    self.operation = operation
    self.path = path
    self.finding = finding
    errno =
      switch finding {
      case .kind(.directory): EISDIR
      case .kind(.symbolicLink): ELOOP
      case .kind, .name: EINVAL
      case .names: EMLINK
      case .tooLarge: EFBIG
      }
  }

  package var errorDescription: String? { description }
  package var description: String {
    switch finding {
    case .kind(let kind):
      "\(path) is \(kind), and not a regular file. Remove it, or choose another directory."
    case .names(let count):
      "\(path) has \(count) names (hard links), and so belongs to somebody else, too. Remove the others, or choose "
        + "another directory."
    case .tooLarge(let limit): "\(path) has more than \(limit) bytes, and cannot be one of ours."
    case .name: "\(path) is not the name of a file in a directory."
    case nil: "\(operation)(\(path)): \(String(cString: strerror(errno))) (errno \(errno))"
    }
  }
}

/// `errno` of this thread, read before anything else can change it.
package func currentErrno() -> Int32 { errno }
