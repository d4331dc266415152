import Foundation

/// The live objects of one retrieval, for references resolved later. Holds them weakly; thread-safe.
// @unchecked: `objects` is accessed with `lock` held. Users share the returned objects at their discretion.
final class IdentityMap: @unchecked Sendable {
  private struct Weak {
    weak var object: AnyObject?
  }

  private let lock = NSLock()
  private var objects: [ObjectKey: Weak] = [:]

  subscript(key: ObjectKey) -> AnyObject? {
    lock.withLock { objects[key]?.object }
  }

  /// Adds an object unless one is present. Returns the one in the map.
  func insert(_ object: AnyObject, _ key: ObjectKey) -> AnyObject {
    lock.withLock {
      if let present = objects[key]?.object { return present }
      objects[key] = Weak(object: object)
      return object
    }
  }
}
