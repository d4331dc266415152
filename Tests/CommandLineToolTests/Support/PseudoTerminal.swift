import Foundation

#if canImport(Glibc)
  import Glibc
#endif

struct PseudoTerminal {
  let program: FileHandle
  private let screen: FileHandle

  init(columns: UInt16 = 80, rows: UInt16 = 24) throws {
    var (master, slave): (Int32, Int32) = (-1, -1)
    guard openpty(&master, &slave, nil, nil, nil) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
    screen = FileHandle(fileDescriptor: master, closeOnDealloc: true)
    program = FileHandle(fileDescriptor: slave, closeOnDealloc: true)
    _ = fcntl(master, F_SETFL, fcntl(master, F_GETFL) | O_NONBLOCK)
    resize(columns: columns, rows: rows)
  }

  /// A few thousand bytes at most of the output since the last call.
  func written() -> Data {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = read(screen.fileDescriptor, &bytes, bytes.count)
    return Data(bytes.prefix(max(0, count)))
  }

  func type(_ text: String) {
    let bytes = Array(text.utf8)
    _ = write(screen.fileDescriptor, bytes, bytes.count)
  }

  func resize(columns: UInt16, rows: UInt16) {
    var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(screen.fileDescriptor, UInt(TIOCSWINSZ), &size)
  }

  /// The local modes of the terminal.
  var modes: UInt32 {
    var settings = termios()
    tcgetattr(program.fileDescriptor, &settings)
    return UInt32(settings.c_lflag)
  }
}
