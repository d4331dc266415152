extension JSONValue {
  /// The members of an object that stands for another parked object: the names that GarageStorage gives them.
  private static let identifierMember = "gs_identifier"
  private static let typeMember = "gs_type"

  /// What is stored in place of a parked object that another one points to.
  static func reference(to key: ObjectKey) -> JSONValue {
    .object([identifierMember: .string(key.identifier), typeMember: .string(key.type)])
  }

  /// The name of the type and the identifier, if this stands for a parked object.
  var reference: (type: String, identifier: String)? {
    guard case .object(let members) = self, members.count == 2,
      case .string(let identifier) = members[Self.identifierMember], case .string(let type) = members[Self.typeMember]
    else { return nil }
    return (type, identifier)
  }

  /// The text of an anonymous object as the original stores it inside another one, and its sync status.
  var originalAnonymous: (json: String, status: Int?)? {
    guard case .object(let members) = self, members[Self.identifierMember] == .string("kGSAnonymousObject"),
      case .string(let json) = members["kGSAnonymousDataKey"]
    else { return nil }
    return (json, members["gs_syncStatus"]?.integer(Int.self))
  }

  /// The text of a date as the original stores those of mapped objects.
  var originalDate: String? {
    guard case .object(let members) = self, members["gs_transformableType"] == .string("gs_transformableDate"),
      case .string(let text) = members["gs_transformableData"]
    else { return nil }
    return text
  }
}
