import Foundation

/// The objects that one retrieval made and that are still alive: references that are resolved later lead to them.
///
/// It holds them weakly, and may be used from several threads.
// @unchecked: `objects` is touched with `lock` held only. What it hands out is shared as the user shares it.
final class IdentityMap: @unchecked Sendable {
  private struct Weak {
    weak var object: AnyObject?
  }

  private let lock = NSLock()
  private var objects: [ObjectKey: Weak] = [:]

  subscript(key: ObjectKey) -> AnyObject? {
    lock.withLock { objects[key]?.object }
  }

  /// Remembers an object, unless there is one: which of them counts.
  func insert(_ object: AnyObject, _ key: ObjectKey) -> AnyObject {
    lock.withLock {
      if let present = objects[key]?.object { return present }
      objects[key] = Weak(object: object)
      return object
    }
  }
}
