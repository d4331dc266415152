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
/// Parts are joined by colons. One that has a colon in it is like two.
public protocol Namespace {
  /// The namespace that this one is in; ``GlobalNamespace`` if none is named.
  associatedtype parent: Namespace = GlobalNamespace

  /// Its part of the names; an empty one adds nothing.
  static var id: String { get }

  /// Called before a value of one of its own keys, not of a nested namespace's, is written; with the value not yet
  /// there. Optional.
  static func preCommitHook()
  /// Called after it was written. Optional.
  static func postCommitHook()
}

extension Namespace {
  public static func preCommitHook() {}
  public static func postCommitHook() {}

  /// The parts of this namespace and of all it is nested in, joined by colons. Empty for ``GlobalNamespace``.
  public static var key: String {
    var parts: [String] = []
    var met: Set<ObjectIdentifier> = []
    var namespace: any Namespace.Type = Self.self
    // One that is nested in itself, which the language does not forbid, is met once.
    while met.insert(ObjectIdentifier(namespace)).inserted {
      if !namespace.id.isEmpty { parts.append(namespace.id) }
      namespace = namespace.enclosing
    }
    return parts.reversed().joined(separator: ":")
  }

  /// What the names of its keys start with, and those of nested namespaces' keys. Empty for ``GlobalNamespace``.
  public static var prefix: String {
    let key = key
    return key.isEmpty ? "" : key + ":"
  }

  private static var enclosing: any Namespace.Type { parent.self }
}
