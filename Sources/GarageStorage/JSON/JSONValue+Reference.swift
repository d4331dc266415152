import Platform

extension JSONValue {
  /// The members of an object that stands for another parked object: the names that GarageStorage gives them.
  private static let identifierMember = "gs_identifier"
  private static let typeMember = "gs_type"
  /// The sync status of an object inside another one.
  static let statusMember = "gs_syncStatus"
  /// No mapped property can have a name that begins so.
  static let reservedPrefix = "gs_"

  /// What is stored in place of a parked object that another one points to.
  static func reference(to key: ObjectKey) -> JSONValue {
    .object([identifierMember: .string(key.identifier), typeMember: .string(key.type)])
  }

  /// The name of the type and the identifier, if this stands for a parked object.
  var reference: ObjectReference? {
    guard case .object(let members) = self, members.count == 2,
      case .string(let identifier) = members[Self.identifierMember], case .string(let type) = members[Self.typeMember]
    else { return nil }
    return ObjectReference(type: type, identifier: identifier)
  }

  /// The class of a mapped object inside another one, if it is not the one that the property is declared with.
  var nestedType: String? {
    guard case .object(let members) = self, case .string(let type) = members[Self.typeMember] else { return nil }
    return type
  }

  static func nestedType(_ type: TypeIdentity) -> (name: String, value: JSONValue) { (typeMember, .string(type.name)) }

  /// The sync status of an object inside another one.
  var nestedStatus: SyncStatus? {
    guard case .object(let members) = self else { return nil }
    return members[Self.statusMember]?.integer(Int.self).flatMap(SyncStatus.init(rawValue:))
  }

  /// The same JSON, in which objects of a type that are in `moved` are referred to by another type's name, and nested
  /// mapped objects of that class have the other one.
  func renaming(_ old: String, to new: String, _ moved: Set<String>) -> JSONValue {
    switch self {
    case .null, .bool, .number, .string: return self
    case .array(let elements): return .array(elements.map { $0.renaming(old, to: new, moved) })
    case .object(var members):
      if let reference {
        guard reference.type == old, moved.contains(reference.identifier) else { return self }
        return .reference(to: ObjectKey(type: new, identifier: reference.identifier))
      }
      members = members.mapValues { $0.renaming(old, to: new, moved) }
      if members[Self.typeMember] == .string(old) { members[Self.typeMember] = .string(new) }
      return .object(members)
    }
  }

  /// The text of an anonymous object as the original stores it inside another one, and its sync status.
  var originalAnonymous: (json: String, status: SyncStatus?)? {
    guard case .object(let members) = self, members[Self.identifierMember] == .string("kGSAnonymousObject"),
      case .string(let json) = members["kGSAnonymousDataKey"]
    else { return nil }
    return (json, nestedStatus)
  }

  /// The text of a date as the original stores those of mapped objects.
  var originalDate: String? {
    guard case .object(let members) = self, members["gs_transformableType"] == .string("gs_transformableDate"),
      case .string(let text) = members["gs_transformableData"]
    else { return nil }
    return text
  }
}
