package import Foundation
import Synchronization

/// Writes defaults to their file soon after they were changed.
///
/// Apple's systems do that by themselves. Foundation on Linux does it when `synchronize()` is called, and what was not
/// synchronized is lost with the process.
package final class DefaultsSynchronizer: Sendable {
  package static let shared = DefaultsSynchronizer()

  /// Changes within this time are written together.
  private static let delay = DispatchTimeInterval.milliseconds(100)

  private struct Change {
    let shared: SharedDefaults
    let onFailure: @Sendable () -> Void
  }

  // Recursive: a change posts a notification, whose observers may make another one.
  private let lock = NSRecursiveLock()
  private let dirty = Mutex<[Change]>([])

  private init() {
    atexit { DefaultsSynchronizer.shared.synchronize() }
  }

  /// Runs what changes defaults while nothing is synchronized, so that no change falls between Foundation's reading of
  /// the file and its writing.
  package func changing<R>(_ body: () throws -> R) rethrows -> R {
    lock.lock()
    defer { lock.unlock() }
    return try body()
  }

  /// - Parameter onFailure: Called, on some thread, if the file could not be written.
  package func noteChange(of defaults: UserDefaults, onFailure: @escaping @Sendable () -> Void) {
    #if !canImport(Darwin)
      let change = Change(shared: SharedDefaults(defaults: defaults), onFailure: onFailure)
      let isFirst = dirty.withLock { dirty in
        let isFirst = dirty.isEmpty
        if !dirty.contains(where: { $0.shared.defaults === change.shared.defaults }) { dirty.append(change) }
        return isFirst
      }
      if isFirst {
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + Self.delay) { self.synchronize() }
      }
    #endif
  }

  private func synchronize() {
    let changed = dirty.withLock { dirty in
      defer { dirty = [] }
      return dirty
    }
    for change in changed where !changing({ change.shared.defaults.synchronize() }) { change.onFailure() }
  }
}
