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
