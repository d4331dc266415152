import Foundation

/// Another process that is spoken to by lines. Ended when it is released.
// Sendable: a test hands it from one thread to another, and never uses it on two at once.
final class ChildProcess: @unchecked Sendable {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var buffer = Data()

  init(_ executable: URL, _ arguments: [String] = [], environment: [String: String]? = nil) throws {
    process.executableURL = executable
    process.arguments = arguments
    process.environment = environment
    process.standardInput = input
    process.standardOutput = output
    // It would inherit that a worker thread blocks signals, and could not be ended by one.
    var none = sigset_t()
    var blocked = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &blocked)
    defer { pthread_sigmask(SIG_SETMASK, &blocked, nil) }
    try process.run()
    // Its end is what shows that nobody speaks to it any more.
    try output.fileHandleForWriting.close()
    try input.fileHandleForReading.close()
  }

  /// Tests/KeychainTestProcess, which knows the bus at `address`.
  static func keychain(bus address: String) throws -> ChildProcess {
    var environment = ProcessInfo.processInfo.environment
    environment["DBUS_SESSION_BUS_ADDRESS"] = address
    return try keychain(environment: environment)
  }

  /// The same with this environment alone.
  static func keychain(environment: [String: String]) throws -> ChildProcess {
    try ChildProcess(testProcess, environment: environment)
  }

  deinit { end() }

  /// Beside the test bundle, whatever runs it.
  private static let testProcess: URL = {
    var folders = [Bundle.main.bundleURL]
    for argument in CommandLine.arguments where argument.contains(".xctest") {
      folders.append(URL(fileURLWithPath: argument).deletingLastPathComponent())
    }
    if let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
      folders.append(URL(fileURLWithPath: link).deletingLastPathComponent())
    }
    folders += folders.map { $0.deletingLastPathComponent() }
    let found = folders.map { $0.appendingPathComponent("KeychainTestProcess") }
      .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    return found ?? URL(fileURLWithPath: "KeychainTestProcess")
  }()

  var identifier: Int32 { process.processIdentifier }

  func send(_ line: String) { input.fileHandleForWriting.write(Data((line + "\n").utf8)) }

  /// The next line of its output; nil: it has ended.
  func readLine() -> String? {
    while true {
      if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
        defer { buffer = Data(buffer[(end + 1)...]) }
        return String(decoding: buffer[..<end], as: UTF8.self)
      }
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { return nil }
      buffer.append(more)
    }
  }

  /// Sends a command and returns the answer.
  func run(_ line: String) -> String? {
    send(line)
    return readLine()
  }

  /// Ends its input, which ends it, and waits for that.
  func end() {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }
}
