import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

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
    guard pipe(&ends) == 0 else {
      throw ToolError(.software, "cannot make a pipe: \(String(cString: strerror(errno)))")
    }
    let (reading, writing) = (ends[0], ends[1])
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    signals = reading
    hasKeyboard = fillsScreen && isatty(STDIN_FILENO) == 1
    var set = sigset_t()
    sigemptyset(&set)
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] + (fillsScreen ? [SIGWINCH, SIGTSTP] : []) {
      sigaddset(&set, number)
    }
    // The next thread inherits the blocked signals.
    pthread_sigmask(SIG_BLOCK, &set, nil)
    Thread.detachNewThread { [set] in
      var set = set
      while true {
        var number: Int32 = 0
        guard sigwait(&set, &number) == 0 else { continue }
        var byte = UInt8(truncatingIfNeeded: number)
        // A full pipe already wakes the reader.
        _ = write(writing, &byte, 1)
      }
    }
  }

  /// Waits for an event; polls once without time left.
  func next(within nanoseconds: UInt64) -> Event {
    let deadline = Platform.nanoseconds() &+ nanoseconds
    while true {
      var waits = [pollfd(fd: signals, events: Int16(POLLIN), revents: 0)]
      if hasKeyboard { waits.append(pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)) }
      // Rounded up to a millisecond, never down: that would cause an extra round.
      let rest = deadline - min(deadline, Platform.nanoseconds())
      let count = poll(&waits, nfds_t(waits.count), Int32(clamping: (rest + 999_999) / 1_000_000))
      var byte: UInt8 = 0
      if count > 0, waits[0].revents != 0, read(signals, &byte, 1) == 1 { return Self.event(of: Int32(byte)) }
      if count > 0, waits.count > 1, waits[1].revents != 0 {
        if read(STDIN_FILENO, &byte, 1) == 1 { return .key(byte) }
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
