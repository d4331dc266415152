/// A group of keys: the first part of their names.
///
/// ```swift
/// enum Animals: Namespace {
///   static let id = "animals"
///   static let count = Key<Animals, Int>(id: "count", defaultValue: 0)  // "animals:count"
/// }
///
/// enum Cats: Namespace {
///   typealias parent = Animals
///   static let id = "cats"  // "animals:cats"
/// }
/// ```
///
/// Parts are joined by colons. A part with a colon counts as two.
public protocol Namespace {
  /// The parent namespace; ``GlobalNamespace`` by default.
  associatedtype parent: Namespace = GlobalNamespace

  /// This namespace's part of the names; empty to add nothing.
  static var id: String { get }

  /// Called before a value of one of its direct keys is written. Optional.
  static func preCommitHook()
  /// Called after it was written. Optional.
  static func postCommitHook()
}

extension Namespace {
  public static func preCommitHook() {}
  public static func postCommitHook() {}

  /// The parts of this namespace and its parents, joined by colons. Empty for ``GlobalNamespace``.
  public static var key: String {
    var parts: [String] = []
    var met: Set<ObjectIdentifier> = []
    var namespace: any Namespace.Type = Self.self
    // Visits a namespace nested in itself, which the language allows, once.
    while met.insert(ObjectIdentifier(namespace)).inserted {
      if !namespace.id.isEmpty { parts.append(namespace.id) }
      namespace = namespace.enclosing
    }
    return parts.reversed().joined(separator: ":")
  }

  /// The start of the names of all keys, nested ones included. Empty for ``GlobalNamespace``.
  public static var prefix: String {
    let key = key
    return key.isEmpty ? "" : key + ":"
  }

  private static var enclosing: any Namespace.Type { parent.self }
}
