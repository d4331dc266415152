import Foundation
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

  /// The key of the parked object that this stands for, if any.
  var reference: ObjectKey? {
    guard case .object(let members) = self, members.count == 2,
      case .string(let identifier) = members[Self.identifierMember], case .string(let type) = members[Self.typeMember]
    else { return nil }
    return ObjectKey(type: type, identifier: identifier)
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

extension JSONValue {
  /// A number that is not finite is a string, since JSON has no words for it.
  init(_ value: some BinaryFloatingPoint & LosslessStringConvertible) {
    if value.isFinite {
      self = .number(String(value))
    } else {
      self = .string(value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity")
    }
  }

  /// The integer, exactly. Returns `nil` if it is not one, or out of the type's range.
  func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer? {
    guard case .number(let text) = self else { return nil }
    if let integer = Integer(text) { return integer }
    // As other writers may put it: 1.0, 1e3.
    return Double(text).flatMap { Integer(exactly: $0) }
  }

  /// The nearest number of the type. Returns `nil` if it is not one, or beyond the type's range.
  func floatingPoint<Number: BinaryFloatingPoint & LosslessStringConvertible>(_ type: Number.Type) -> Number? {
    switch self {
    case .number(let text): Number(text).flatMap { $0.isFinite ? $0 : nil }
    case .string("Infinity"): .infinity
    case .string("-Infinity"): -.infinity
    case .string("NaN"): .nan
    default: nil
    }
  }

  var decimal: Decimal? {
    guard case .number(let text) = self else { return nil }
    return Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))
  }
}

extension JSONValue {
  /// The JSON of a standard type's value, as `JSONEncoder` writes it. It is `nil` for a type that encodes itself.
  init?<T: Encodable>(standard value: T) {
    switch T.self {
    case is String.Type: self = .string(value as! String)
    case is Int.Type: self = .number(String(value as! Int))
    case is Double.Type: self = JSONValue(value as! Double)
    case is Float.Type: self = JSONValue(value as! Float)
    case is Bool.Type: self = .bool(value as! Bool)
    case is Data.Type: self = .string((value as! Data).base64EncodedString())
    case is URL.Type: self = .string((value as! URL).absoluteString)
    case is Decimal.Type:
      let decimal = value as! Decimal
      self = decimal.isNaN ? .string("NaN") : .number(decimal.description)
    default: return nil
    }
  }
}
