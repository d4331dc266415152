import EFStorageCore
import Foundation
import Synchronization

/// Writes defaults to their file soon after they were changed.
///
/// Apple's systems do that by themselves. Foundation on Linux does it when `synchronize()` is called, and what was not
/// synchronized is lost with the process.
final class DefaultsSynchronizer: Sendable {
  static let shared = DefaultsSynchronizer()

  /// Changes within this time are written together.
  private static let delay = DispatchTimeInterval.milliseconds(100)

  private let dirty = Mutex<[SharedDefaults]>([])

  private init() {
    atexit { DefaultsSynchronizer.shared.synchronize() }
  }

  func noteChange(of defaults: UserDefaults) {
    #if !canImport(Darwin)
      let changed = SharedDefaults(defaults: defaults)
      let isFirst = dirty.withLock { dirty in
        let isFirst = dirty.isEmpty
        if !dirty.contains(where: { $0.defaults === changed.defaults }) { dirty.append(changed) }
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
    for shared in changed where !shared.defaults.synchronize() {
      EFStorageFailure(
        .storage, key: "", storage: UserDefaults.self, content: Any.self,
        underlying: CocoaError(.fileWriteUnknown)
      ).report()
    }
  }
}
