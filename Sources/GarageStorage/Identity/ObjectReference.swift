/// The names that one object stores of another one that it points to.
struct ObjectReference: Hashable {
  let type: String
  let identifier: String
}

extension ObjectKey {
  init(_ reference: ObjectReference) { self.init(type: reference.type, identifier: reference.identifier) }
}
