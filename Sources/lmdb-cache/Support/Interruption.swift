import Dispatch
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

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
