/// The name of a value of one type, in a namespace.
///
/// ```swift
/// let temperature = Key<Weather, Double>(id: "temp", defaultValue: 0)
/// let city = Key<Weather, String?>(id: "city", defaultValue: nil) { $0?.capitalized }
/// ```
public struct Key<G: Namespace, V>: KeyType {
  public typealias NamespaceType = G
  public typealias ValueType = V
  public typealias ChangeBlock = @Sendable (ValueType) -> ValueType

  /// This key's part of the name.
  public var id: String { didSet { stringValue = G.prefix + id } }
  public var defaultValue: ValueType
  /// Converts a new value before it is stored.
  public var changeBlock: ChangeBlock?
  /// The namespace's part, a colon, and the identifier.
  public private(set) var stringValue: String

  public init(id: String, defaultValue: ValueType, changeBlock: ChangeBlock? = nil) {
    self.id = id
    self.defaultValue = defaultValue
    self.changeBlock = changeBlock
    stringValue = G.prefix + id
  }

  public func processChange(_ oldValue: ValueType, newValue: ValueType) -> ValueType {
    changeBlock.map { $0(newValue) } ?? newValue
  }
}

extension Key: Sendable where V: Sendable {}

/// Names a value in a ``Store``, and follows its changes. Usually ``Key``; conform a custom type to do more.
///
/// Setting a value goes through these steps: the old value is read; ``processChange(_:newValue:)`` may replace the new
/// one; it is encoded; ``willChange(_:newValue:)``; the namespace's ``Namespace/preCommitHook()``; it is written; the
/// namespace's ``Namespace/postCommitHook()``; ``didChange(_:newValue:)``. A failed encoding or write is reported and
/// ends them.
///
/// The steps run on the setting thread, for one value at a time in the process. So none should take long, or wait for
/// another thread. They may get and set values, also of this key.
///
/// The functions with the label `oldValue` are another spelling: implement one of the two.
public protocol KeyType<ValueType> {
  associatedtype NamespaceType: Namespace
  /// An optional type makes the value nullable: nothing is stored for nil.
  associatedtype ValueType

  /// The name, with the namespace's.
  var stringValue: String { get }
  /// The value of a missing entry.
  var defaultValue: ValueType { get }

  /// Returns the value to store; `newValue` by default.
  func processChange(_ oldValue: ValueType, newValue: ValueType) -> ValueType
  func willChange(_ oldValue: ValueType, newValue: ValueType)
  func didChange(_ oldValue: ValueType, newValue: ValueType)

  func processChange(oldValue: ValueType, newValue: ValueType) -> ValueType
  func willChange(oldValue: ValueType, newValue: ValueType)
  func didChange(oldValue: ValueType, newValue: ValueType)
}

extension KeyType {
  public func processChange(_ oldValue: ValueType, newValue: ValueType) -> ValueType {
    processChange(oldValue: oldValue, newValue: newValue)
  }

  public func willChange(_ oldValue: ValueType, newValue: ValueType) {
    willChange(oldValue: oldValue, newValue: newValue)
  }

  public func didChange(_ oldValue: ValueType, newValue: ValueType) {
    didChange(oldValue: oldValue, newValue: newValue)
  }

  public func processChange(oldValue: ValueType, newValue: ValueType) -> ValueType { newValue }
  public func willChange(oldValue: ValueType, newValue: ValueType) {}
  public func didChange(oldValue: ValueType, newValue: ValueType) {}
}

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

/// The namespace of top-level keys. It adds nothing to their names.
public enum GlobalNamespace: Namespace {
  public typealias parent = GlobalNamespace
  public static let id = ""
}

/// A type with a value or none: `Optional`.
public protocol Nullable: ExpressibleByNilLiteral {
  associatedtype UnderlyingType

  var wrappedValue: UnderlyingType? { get }

  init(_ some: UnderlyingType)
}

extension Optional: Nullable {
  public var wrappedValue: Wrapped? { self }
}
