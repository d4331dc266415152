import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// What may happen while a command goes on until it is ended: keys, signals, the end of a pause.
///
/// Signals are blocked, and a thread waits for them, which makes ``next(within:)`` return by a byte in a pipe. They are
/// blocked for as long as the process lives; so it is made once, by the command's own thread, before there are others.
final class TerminalEvents {
  enum Event: Equatable {
    case key(UInt8)
    /// The time is over.
    case pauseEnded
    /// The size of the terminal has changed.
    case resized
    /// The user wants the shell: the screen is to be given back before ``suspend()``.
    case suspension
    /// The command is to end.
    case end
  }

  /// The end of the pipe that is read.
  private let signals: Int32
  private var hasKeyboard: Bool

  /// - Parameter fillsScreen: Whether standard input is a keyboard, and the size of the terminal matters.
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
    // The thread that is made next blocks them too.
    pthread_sigmask(SIG_BLOCK, &set, nil)
    Thread.detachNewThread { [set] in
      var set = set
      while true {
        var number: Int32 = 0
        guard sigwait(&set, &number) == 0 else { continue }
        var byte = UInt8(truncatingIfNeeded: number)
        // A pipe that is full says enough.
        _ = write(writing, &byte, 1)
      }
    }
  }

  /// Waits for something to happen; looks once where there is no time to wait.
  func next(within nanoseconds: UInt64) -> Event {
    let deadline = Platform.nanoseconds() &+ nanoseconds
    while true {
      var waits = [pollfd(fd: signals, events: Int16(POLLIN), revents: 0)]
      if hasKeyboard { waits.append(pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)) }
      // Up to a millisecond longer, and never shorter: there would be a round for nothing.
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

  /// Stops the process, as Ctrl-Z does, until somebody continues it.
  func suspend() { raise(SIGSTOP) }
}
