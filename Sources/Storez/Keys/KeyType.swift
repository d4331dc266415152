/// What names a value in a ``Store``, and follows its changes. ``Key`` is the one to use; conform a type of your own to do
/// more.
///
/// When a value is set, this happens in order: the old value is read; ``processChange(_:newValue:)`` may replace the new
/// one; it is encoded, and what cannot be is reported and goes no further; ``willChange(_:newValue:)``; the namespace's
/// ``Namespace/preCommitHook()``; it is written, and what cannot be is reported and goes no further; the namespace's
/// ``Namespace/postCommitHook()``; ``didChange(_:newValue:)``.
///
/// All of this happens on the thread that sets the value, for one value at a time in the process. So none of it should
/// take long, or wait for another thread. It may get and set values, of this key too.
///
/// The functions with the label `oldValue` are another spelling: implement one of the two.
public protocol KeyType<ValueType> {
  associatedtype NamespaceType: Namespace
  /// An optional type makes the value nullable: nothing is stored for nil.
  associatedtype ValueType

  /// The name, with the namespace's.
  var stringValue: String { get }
  /// What is got where nothing is stored.
  var defaultValue: ValueType { get }

  /// What is to be stored instead of `newValue`; that itself if this is not implemented.
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
