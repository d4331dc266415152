import Foundation
import Platform
import Synchronization

/// System calls that Foundation does not offer.
enum Platform {
  /// Monotonic nanoseconds. Takes about 20 ns if the kernel answers without a system call.
  @inline(__always)
  static func nanoseconds() -> UInt64 { UInt64(MonotonicClock.nanoseconds) }

  /// The median cost of reading the clock twice, which every measured time includes.
  static func clockCost() -> UInt64 {
    var costs: [UInt64] = []
    for _ in 0..<1001 {
      let start = nanoseconds()
      costs.append(nanoseconds() - start)
    }
    return costs.sorted()[costs.count / 2]
  }

  static var standardOutputIsTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
  static var standardErrorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  /// Whether a descriptor's reader is gone for good.
  static func isHungUp(_ descriptor: Int32) -> Bool {
    pollDescriptor(descriptor, 0, nanoseconds: 0).ready & (POLLERR | POLLHUP | POLLNVAL) != 0
  }

  /// The `errno` of looking at a path; `nil` if it exists.
  static func statusError(ofFileAt path: String) -> Int32? { FileStatus(ofPath: path) == nil ? errno : nil }

  /// Size in bytes; `nil` for a missing file or one without a size.
  static func size(ofFileAt path: String) -> Int? {
    FileStatus(ofPath: path).flatMap { $0.kind == .regular ? $0.size : nil }
  }

  /// Bytes read by this process so far, without mapped memory. `nil` if unknown.
  static func bytesRead() -> Int? {
    // Files in /proc have no length.
    guard let file = FileHandle(forReadingAtPath: "/proc/self/io"), let data = try? file.read(upToCount: 4096),
      let line = String(decoding: data, as: UTF8.self).split(separator: "\n").first(where: { $0.hasPrefix("rchar:") })
    else { return nil }
    return Int(line.dropFirst(6).trimmingCharacters(in: .whitespaces))
  }

  /// The system's message, where Foundation's error hides it.
  static func reason(of error: any Error) -> (text: String, isPermissionDenied: Bool) {
    var error = error as NSError
    while let underlying = error.userInfo[NSUnderlyingErrorKey] as? any Error { error = underlying as NSError }
    if error.domain != NSPOSIXErrorDomain {
      return (error.localizedDescription, (error as? CocoaError)?.code == .fileReadNoPermission)
    }
    return (SystemError.text(of: Int32(error.code)), error.code == Int(EACCES))
  }

  // MARK: Files that get their names when they are whole

  /// Creates an empty file next to a path, readable by this user only.
  static func makeTemporaryFile(beside path: String) throws(ToolError) -> (descriptor: Int32, path: String) {
    let place = URL(fileURLWithPath: path).deletingLastPathComponent().path
    var template = Array("\(place)/.\(URL(fileURLWithPath: path).lastPathComponent).XXXXXX".utf8CString)
    let descriptor = unsafe mkstemp(&template)
    guard descriptor >= 0 else {
      let status: ExitStatus = errno == EACCES ? .noPermission : .cannotCreate
      throw ToolError(status, "cannot create a file in \(place): \(SystemError.text(of: errno))")
    }
    return (descriptor, String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
  }

  static func move(_ path: String, to newPath: String) throws(ToolError) {
    guard unsafe rename(path, newPath) == 0 else {
      throw ToolError(.cannotCreate, "cannot create \(newPath): \(SystemError.text(of: errno))")
    }
  }

  static func remove(_ path: String) -> Bool { unsafe unlink(path) == 0 }
}

/// Turns the first SIGINT or SIGTERM into a flag; the second one ends the process as usual.
// @unchecked: the sources are set once, and Dispatch lets any thread cancel them.
final class Interruption: @unchecked Sendable {
  private let flag = Atomic<Bool>(false)
  private let sources: [any DispatchSourceSignal]
  private static let signals = [SIGINT, SIGTERM]

  init() {
    sources = Self.signals.map { number in
      // Dispatch also reports ignored signals; ignoring them keeps the process alive.
      signal(number, SIG_IGN)
      return DispatchSource.makeSignalSource(signal: number, queue: .global())
    }
    for source in sources {
      source.setEventHandler { [weak self] in self?.interrupt() }
      source.resume()
    }
  }

  deinit {
    for source in sources { source.cancel() }
    for number in Self.signals { signal(number, SIG_DFL) }
  }

  var hasHappened: Bool { flag.load(ordering: .relaxed) }

  private func interrupt() {
    flag.store(true, ordering: .relaxed)
    for number in Self.signals { signal(number, SIG_DFL) }
  }
}

/// Events of a command that runs until stopped: keys, signals, the end of a pause.
///
/// Signals are blocked, and a thread waits for them and wakes ``next(within:)`` by a byte in a pipe. They stay blocked
/// for the life of the process, so create it once, on the main thread, before any other thread.
final class TerminalEvents {
  enum Event: Equatable {
    case key(UInt8)
    case pauseEnded
    case resized
    /// Suspension requested: restore the screen before ``suspend()``.
    case suspension
    case end
  }

  /// The read end of the pipe.
  private let signals: Int32
  private var hasKeyboard: Bool

  /// - Parameter fillsScreen: Whether to read keys from standard input and follow the terminal's size.
  init(fillsScreen: Bool) throws(ToolError) {
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else {
      throw ToolError(.software, "cannot make a pipe: \(SystemError.text(of: errno))")
    }
    let (reading, writing) = (ends[0], ends[1])
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    signals = reading
    hasKeyboard = fillsScreen && isatty(STDIN_FILENO) == 1
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] + (fillsScreen ? [SIGWINCH, SIGTSTP] : []) {
      unsafe sigaddset(&set, number)
    }
    // The next thread inherits the blocked signals.
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    Thread.detachNewThread { [set] in
      var set = set
      while true {
        var number: Int32 = 0
        guard unsafe sigwait(&set, &number) == 0 else { continue }
        var byte = UInt8(truncatingIfNeeded: number)
        // A full pipe already wakes the reader.
        _ = unsafe write(writing, &byte, 1)
      }
    }
  }

  /// Waits for an event; polls once without time left.
  func next(within nanoseconds: UInt64) -> Event {
    let deadline = Platform.nanoseconds() &+ nanoseconds
    while true {
      var waits = [pollfd(fd: signals, events: Int16(POLLIN), revents: 0)]
      if hasKeyboard { waits.append(pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)) }
      let rest = deadline - min(deadline, Platform.nanoseconds())
      let count = pollDescriptors(&waits, nanoseconds: Int64(clamping: rest))
      var byte: UInt8 = 0
      if count > 0, waits[0].revents != 0, unsafe read(signals, &byte, 1) == 1 { return Self.event(of: Int32(byte)) }
      if count > 0, waits.count > 1, waits[1].revents != 0 {
        if unsafe read(STDIN_FILENO, &byte, 1) == 1 { return .key(byte) }
        hasKeyboard = false
      }
      if Platform.nanoseconds() >= deadline { return .pauseEnded }
    }
  }

  private static func event(of signal: Int32) -> Event {
    switch signal {
    case SIGWINCH: .resized
    case SIGTSTP: .suspension
    default: .end
    }
  }

  /// Stops the process, like Ctrl-Z, until it is continued.
  func suspend() { raise(SIGSTOP) }
}

/// Files read whole; `-` is standard input, and `.xz` files can be decompressed.
enum InputFile {
  static func contents(of path: String, unpacking: Bool = false) throws(ToolError) -> Data {
    if path == "-" { return try read(.standardInput, "standard input") }
    let handle = try open(path)
    if unpacking && path.hasSuffix(".xz") { return try unpacked(handle, path) }
    return try read(handle, path)
  }

  static func open(_ path: String) throws(ToolError) -> FileHandle {
    do {
      return try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    } catch {
      let reason = Platform.reason(of: error)
      throw ToolError(reason.isPermissionDenied ? .noPermission : .noInput, "cannot open \(path): \(reason.text)")
    }
  }

  /// The number of bytes to read; `nil` if unknown in advance.
  static func size(of path: String, unpacking: Bool = false) -> Int? {
    path == "-" || unpacking && path.hasSuffix(".xz") ? nil : Platform.size(ofFileAt: path)
  }

  private static func read(_ handle: FileHandle, _ name: String) throws(ToolError) -> Data {
    do {
      return try handle.readToEnd() ?? Data()
    } catch {
      throw ToolError(.inputOutput, "cannot read \(name): \(Platform.reason(of: error).text)")
    }
  }

  private static func unpacked(_ handle: FileHandle, _ path: String) throws(ToolError) -> Data {
    let process = Process()
    let output = Pipe()
    // `env` searches PATH.
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["xz", "-dc"]
    process.standardInput = handle
    process.standardOutput = output
    do {
      try process.run()
    } catch {
      throw ToolError(.unavailable, "cannot run xz: \(Platform.reason(of: error).text)")
    }
    let contents = try read(output.fileHandleForReading, path)
    process.waitUntilExit()
    // `env` reports a missing program by it.
    if process.terminationStatus == 127 {
      throw ToolError(.unavailable, "\(path) is packed, and xz is not installed (Debian: apt-get install xz-utils)")
    }
    if process.terminationReason != .exit || process.terminationStatus != 0 {
      throw ToolError(.dataError, "\(path) cannot be unpacked: it is damaged, or no xz file")
    }
    return contents
  }
}
