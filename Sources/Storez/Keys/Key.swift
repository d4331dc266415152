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
