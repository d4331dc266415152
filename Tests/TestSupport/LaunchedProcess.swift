import CTestSupport
package import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// A program launched and awaited with system calls.
///
/// Foundation's `Process` on Linux reads out of bounds when this process has more than about 1,350 descriptors, which
/// parallel cache tests do.
package final class LaunchedProcess: Sendable {
  package let identifier: pid_t
  /// The kernel reuses the number of a reaped process.
  private let ending = Mutex<ProcessOutcome.Ending?>(nil)

  /// Launches a program with only the three given descriptors and a group of its own; it blocks no signal, and ignores
  /// none that a shell ignores for background jobs.
  ///
  /// - Parameters:
  ///   - environment: All its variables; `nil`: those of this process.
  ///   - errors: `nil`: those of this process.
  package init(
    _ executable: URL, _ arguments: [String], environment: [String: String]? = nil, input: FileHandle,
    output: FileHandle, errors: FileHandle? = nil
  ) throws {
    var actions = Self.noActions
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // Above the first three, so that none is replaced before it is used.
    let sources = try [input, output, errors ?? .standardError].map(Self.duplicate)
    defer { for source in sources where source >= 0 { close(source) } }
    for (target, source) in sources.enumerated() {
      posix_spawn_file_actions_adddup2(&actions, source, Int32(target))
    }
    var attributes = Self.noAttributes
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // Worker threads block signals, and the child would inherit that and could not be signaled.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    var interruptions = none
    for signal in [SIGINT, SIGQUIT] { sigaddset(&interruptions, signal) }
    posix_spawnattr_setsigdefault(&attributes, &interruptions)
    var flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETPGROUP) | Int32(POSIX_SPAWN_SETSIGDEF)
    #if canImport(Darwin)
      flags |= POSIX_SPAWN_CLOEXEC_DEFAULT
    #else
      _ = ctestsupport_close_from(&actions, 3)
    #endif
    posix_spawnattr_setflags(&attributes, Int16(flags))
    var child: pid_t = 0
    let status = Self.withCStrings([executable.path] + arguments) { words in
      guard let environment else { return posix_spawn(&child, executable.path, &actions, &attributes, words, environ) }
      return Self.withCStrings(environment.map { "\($0)=\($1)" }) {
        posix_spawn(&child, executable.path, &actions, &attributes, words, $0)
      }
    }
    guard status == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: status) ?? .EINVAL, userInfo: [NSFilePathErrorKey: executable.path])
    }
    identifier = child
  }

  /// Foundation's null device has no descriptor on Linux: the child would inherit this process's.
  private static func duplicate(_ handle: FileHandle) throws -> Int32 {
    let null = handle.fileDescriptor < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1
    defer { if null >= 0 { close(null) } }
    let descriptor = fcntl(null < 0 ? handle.fileDescriptor : null, F_DUPFD_CLOEXEC, 3)
    guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EBADF) }
    return descriptor
  }

  /// Reaps it, if no one waited for it.
  deinit { _ = tryWait() }

  /// Waits for its end. Other threads may send signals during the wait.
  @discardableResult package func wait() -> ProcessOutcome.Ending {
    var information = siginfo_t()
    while waitid(P_PID, id_t(identifier), &information, WEXITED | WNOWAIT) < 0 && errno == EINTR {}
    return ending.withLock { Self.reap(identifier, into: &$0, 0) }!
  }

  /// How it ended, or `nil` while it runs.
  package func tryWait() -> ProcessOutcome.Ending? { ending.withLock { Self.reap(identifier, into: &$0, WNOHANG) } }

  /// How it ended, or `nil` if it still runs at `limit`.
  package func wait(until limit: Date) -> ProcessOutcome.Ending? {
    while true {
      if let ending = tryWait() { return ending }
      if Date() > limit { return nil }
      usleep(1_000)
    }
  }

  private static func reap(
    _ identifier: pid_t, into ending: inout ProcessOutcome.Ending?, _ options: Int32
  ) -> ProcessOutcome.Ending? {
    if ending != nil { return ending }
    var (status, result): (Int32, pid_t) = (0, 0)
    repeat { result = waitpid(identifier, &status, options) } while result < 0 && errno == EINTR
    let signal = status & 0x7F
    if result == identifier { ending = signal == 0 ? .exit(status >> 8 & 0xFF) : .signal(signal) }
    return ending
  }

  /// Sends a signal, unless it has been reaped.
  package func signal(_ number: Int32) {
    ending.withLock { if $0 == nil { _ = kill(identifier, number) } }
  }

  /// Calls `body` with C copies of `strings`, followed by a null pointer.
  private static func withCStrings<Result>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
  ) -> Result {
    let copies = strings.map { strdup($0) } + [nil]
    defer { for copy in copies { free(copy) } }
    return body(copies)
  }

  #if canImport(Darwin)
    private static var noActions: posix_spawn_file_actions_t? { nil }
    private static var noAttributes: posix_spawnattr_t? { nil }
  #else
    private static var noActions: posix_spawn_file_actions_t { .init() }
    private static var noAttributes: posix_spawnattr_t { .init() }
  #endif
}
