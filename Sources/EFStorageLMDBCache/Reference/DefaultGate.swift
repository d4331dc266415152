import Foundation
import Synchronization

/// Keeps the writes of references out while a default is stored if nothing is, so that it replaces none of them.
///
/// A write costs two atomic operations, and waits only while a default is stored.
@usableFromInline
final class DefaultGate: Sendable {
  private let writers = Atomic<Int>(0)
  /// The thread that stores a default; 0 if none does.
  private let owner = Atomic<UInt>(0)
  private let passage = Mutex(())

  private init() {}

  /// References share a few gates.
  private static let gates = (0..<64).map { _ in DefaultGate() }

  static func gate(for key: String, in cache: AnyObject?) -> DefaultGate {
    var hasher = Hasher()
    hasher.combine(cache.map(ObjectIdentifier.init))
    hasher.combine(key)
    return gates[Int(UInt(bitPattern: hasher.finalize()) % UInt(gates.count))]
  }

  // MARK: Writers

  func enter() {
    while true {
      writers.wrappingAdd(1, ordering: .sequentiallyConsistent)
      let current = owner.load(ordering: .sequentiallyConsistent)
      // A default that is archived may run any code, which may write.
      if current == 0 || current == Self.thread { return }
      leave()
      passage.withLock { _ in }
    }
  }

  func leave() { writers.wrappingSubtract(1, ordering: .sequentiallyConsistent) }

  // MARK: Defaults

  /// The writes that are under way are waited for. One that takes longer than this may itself be waiting for the default
  /// of another property.
  private static let timeLimit = Duration.milliseconds(100)

  /// Runs `body` while no reference writes.
  func exclusively<R>(_ body: () throws -> R) rethrows -> R {
    if owner.load(ordering: .relaxed) == Self.thread { return try body() }
    return try passage.withLock { _ in
      owner.store(Self.thread, ordering: .sequentiallyConsistent)
      defer { owner.store(0, ordering: .sequentiallyConsistent) }
      let clock = ContinuousClock()
      let deadline = clock.now + Self.timeLimit
      while writers.load(ordering: .sequentiallyConsistent) > 0, clock.now < deadline { sched_yield() }
      return try body()
    }
  }

  private static var thread: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }
}
