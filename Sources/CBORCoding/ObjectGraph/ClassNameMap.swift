#if !canImport(Darwin)
  import Foundation
  import Synchronization

  /// Class names in archives that differ from the classes' own.
  struct ClassNameMap {
    private var names: [ObjectIdentifier: String] = [:]
    private var classes: [String: AnyClass] = [:]

    var isEmpty: Bool { names.isEmpty && classes.isEmpty }

    subscript(name type: AnyClass) -> String? {
      get { names[ObjectIdentifier(type)] }
      set { names[ObjectIdentifier(type)] = newValue }
    }

    subscript(class name: String) -> AnyClass? {
      get { classes[name] }
      set { classes[name] = newValue }
    }

    /// Process-wide names, one map for each direction.
    static let archiving = Shared()
    static let unarchiving = Shared()

    final class Shared: Sendable {
      private let map = Mutex(ClassNameMap())
      /// Avoids the lock in most processes, which set no names.
      private let used = Atomic(false)

      var isUsed: Bool { used.load(ordering: .acquiring) }

      func read<R>(_ body: (borrowing ClassNameMap) -> R?) -> R? {
        guard isUsed else { return nil }
        return map.withLock { body($0) }
      }

      func change(_ body: (inout ClassNameMap) -> Void) {
        map.withLock { body(&$0) }
        used.store(true, ordering: .releasing)
      }
    }
  }
#endif
