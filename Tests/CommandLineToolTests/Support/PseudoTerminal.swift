import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A terminal that nobody looks at.
struct PseudoTerminal {
  /// What a program gets as its standard output.
  let program: FileHandle
  private let screen: FileHandle

  init() throws {
    var (master, slave): (Int32, Int32) = (-1, -1)
    guard openpty(&master, &slave, nil, nil, nil) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
    screen = FileHandle(fileDescriptor: master, closeOnDealloc: true)
    program = FileHandle(fileDescriptor: slave, closeOnDealloc: true)
    _ = fcntl(master, F_SETFL, fcntl(master, F_GETFL) | O_NONBLOCK)
  }

  /// What has been written to it, up to a few thousand bytes.
  func written() -> Data {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = read(screen.fileDescriptor, &bytes, bytes.count)
    return Data(bytes.prefix(max(0, count)))
  }
}
