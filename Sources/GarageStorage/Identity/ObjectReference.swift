struct ObjectReference: Hashable {
  let type: String
  let identifier: String
}

extension ObjectKey {
  init(_ reference: ObjectReference) { self.init(type: reference.type, identifier: reference.identifier) }
}
