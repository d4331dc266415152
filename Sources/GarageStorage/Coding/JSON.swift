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

/// Writes JSON in one form only (keys sorted by their UTF-8 bytes, no spaces), so that equal values are equal bytes.
struct JSONWriter {
  private(set) var bytes: [UInt8] = []

  static func bytes(of value: JSONValue) -> [UInt8] {
    var writer = JSONWriter()
    writer.write(value)
    return writer.bytes
  }

  private mutating func write(_ value: JSONValue) {
    switch value {
    case .null: write("null")
    case .bool(let bool): write(bool ? "true" : "false")
    case .number(let text): write(text)
    case .string(let text): write(quoted: text)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        write(element)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      for (index, member) in sorted.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        write(quoted: member.key)
        bytes.append(UInt8(ascii: ":"))
        write(member.value)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  private mutating func write(_ text: String) { bytes.append(contentsOf: text.utf8) }

  private mutating func write(quoted text: String) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
      case 0..<0x20:
        write("\\u00")
        for digit in [byte >> 4, byte & 15] { bytes.append(digit < 10 ? 48 + digit : 87 + digit) }
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}

/// The reader of stored JSON by itself, for fuzzers. It is not part of the supported interface.
@_spi(Fuzzing)
public enum UntrustedJSON {
  /// What was read, written again. Returns `nil` if it is not JSON.
  public static func rewritten(_ bytes: [UInt8]) -> [UInt8]? {
    guard let value = try? JSONParser.value(of: bytes) else { return nil }
    return JSONWriter.bytes(of: value)
  }
}
