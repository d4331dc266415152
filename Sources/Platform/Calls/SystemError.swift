#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A failed system call, or an unexpected kind of file.
package struct SystemError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
  /// An unexpected kind of file. The system has no error number for these; ``errno`` is the nearest.
  package enum Finding: Hashable, Sendable {
    case kind(FileKind)
    /// Several hard links: others may be using the file.
    case names(Int)
    case tooLarge(limit: Int)
    /// Not the name of a file in a directory: empty, `.`, `..`, or with a slash or NUL.
    case name
  }

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
    case nil: "\(operation)(\(path)): \(Self.text(of: errno)) (errno \(errno))"
    }
  }
}

extension SystemError {
  /// The system's text for an error number.
  package static func text(of errno: Int32) -> String { unsafe String(cString: strerror(errno)) }
}

/// This thread's `errno`; read it before any other call changes it.
package func currentErrno() -> Int32 { errno }

package enum FileKind: Hashable, Sendable, CustomStringConvertible {
  case regular, directory, symbolicLink, fifo, socket, device, other

  init(mode: mode_t) {
    self =
      switch mode & S_IFMT {
      case S_IFREG: .regular
      case S_IFDIR: .directory
      case S_IFLNK: .symbolicLink
      case S_IFIFO: .fifo
      case S_IFSOCK: .socket
      case S_IFCHR, S_IFBLK: .device
      default: .other
      }
  }

  package var description: String {
    switch self {
    case .regular: "a regular file"
    case .directory: "a directory"
    case .symbolicLink: "a symbolic link"
    case .fifo: "a FIFO"
    case .socket: "a socket"
    case .device: "a device"
    case .other: "of an unknown kind"
    }
  }
}
