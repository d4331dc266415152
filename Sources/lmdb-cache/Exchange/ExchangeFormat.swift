import ArgumentParser
import CBORCoding
import Foundation
import Platform

/// What `export` writes and `import` reads: a header, an object or map for each entry, and an end, one behind the
/// other.
enum ExchangeFormat: String, ExpressibleByArgument, CaseIterable {
  /// An object a line.
  case jsonl
  /// A CBOR sequence (RFC 8742) of maps.
  case cbor

  typealias Field = CBORField
  typealias Fields = [(key: Name, value: Field)]

  enum Name: String, CaseIterable {
    case key, format, created, lastAccess, expires, refresh, kept, cost, tags, revision, uses, transformed, absence
    /// The value; if it is not readable, its bytes, in JSON as text.
    case value, bytes, base64
    // The header and the end.
    case version = "lmdb-cache-export"
    case durability, entries, unreadable
  }

  static var allValueDescriptions: [String: String] {
    ["jsonl": "JSON lines: an object a line", "cbor": "a CBOR sequence (RFC 8742) of maps"]
  }

  // MARK: The header and the end

  static let version: Int128 = 1
}

extension ExchangeFormat {
  /// The fields of a line: a JSON object that holds no objects. An integer keeps all of its digits.
  static func fields(of line: [UInt8]) throws(ExchangeProblem) -> [String: Field] {
    let value: JSONValue
    do throws(JSONParser.Failure) {
      value = try JSONParser.value(of: line)
    } catch {
      throw ExchangeProblem("column \(error.offset + 1): \(error.reason)")
    }
    guard case .object(let members) = value else { throw ExchangeProblem("column 1: an object was expected") }
    var fields: [String: Field] = [:]
    for (name, value) in members {
      do throws(ExchangeProblem) {
        fields[name] = try field(value)
      } catch {
        throw ExchangeProblem("“\(Formatting.key(name))”: \(error.text)")
      }
    }
    return fields
  }

  private static func field(_ value: JSONValue) throws(ExchangeProblem) -> Field {
    switch value {
    case .null: return .null
    case .bool(let bool): return .bool(bool)
    case .string(let text): return .text(text)
    case .array(let elements):
      return .list(try elements.map { (element) throws(ExchangeProblem) in try field(element) })
    case .object: throw ExchangeProblem("an object is no value of a field")
    case .number(let text):
      // An integer has no -0, and a double does.
      if text != "-0", !text.contains(where: { ".eE".contains($0) }) {
        guard let integer = Int128(text) else { throw ExchangeProblem("the number has too many digits") }
        return .integer(integer)
      }
      guard let double = Double(text), double.isFinite else { throw ExchangeProblem("the number is too large") }
      return .double(double)
    }
  }
}

/// What is wrong with an entry in a file, or with the file, without the place.
struct ExchangeProblem: Error {
  let text: String

  init(_ text: String) { self.text = text }
}

/// The fields of an object or map, by types.
struct FieldReader {
  typealias Field = ExchangeFormat.Field
  typealias Name = ExchangeFormat.Name

  private let fields: [String: Field]

  init(_ fields: [String: Field]) { self.fields = fields }

  /// Refuses a field that is not known: it says something about the entry, which would be lost.
  func refuseUnknown() throws(ExchangeProblem) {
    if let other = fields.keys.filter({ Name(rawValue: $0) == nil }).min() {
      throw ExchangeProblem("a field “\(Formatting.key(other))” is not known: a newer version may have written it")
    }
  }

  func has(_ name: Name) -> Bool { fields[name.rawValue] != nil }

  func required<Value>(_ name: Name, _ value: Value?) throws(ExchangeProblem) -> Value {
    guard let value else { throw ExchangeProblem("there is no “\(name)”") }
    return value
  }

  func text(_ name: Name) throws(ExchangeProblem) -> String? {
    switch fields[name.rawValue] {
    case nil: return nil
    case .text(let text)?: return text
    case let other?: throw wrong(name, other, "text")
    }
  }

  /// Also one that is text: JSON's readers keep no more than 53 bits of a number.
  func integer<Value: FixedWidthInteger>(_ name: Name) throws(ExchangeProblem) -> Value? {
    guard let field = fields[name.rawValue] else { return nil }
    let integer: Int128
    switch field {
    case .integer(let value): integer = value
    case .text(let text):
      guard let value = Int128(text) else { throw ExchangeProblem("“\(name)” is text, and no integer") }
      integer = value
    default: throw wrong(name, field, "an integer")
    }
    guard let value = Value(exactly: integer) else {
      throw ExchangeProblem("“\(name)” is \(integer), and has to be \(Value.min) … \(Value.max)")
    }
    return value
  }

  func double(_ name: Name) throws(ExchangeProblem) -> Double? {
    switch fields[name.rawValue] {
    case nil: return nil
    case .double(let value)?: return value
    // What other programs make of 1.0.
    case .integer(let value)?: return Double(value)
    case let other?: throw wrong(name, other, "a number")
    }
  }

  func bool(_ name: Name) throws(ExchangeProblem) -> Bool? {
    switch fields[name.rawValue] {
    case nil: return nil
    case .bool(let value)?: return value
    case let other?: throw wrong(name, other, "true or false")
    }
  }

  /// Bytes, or what is text in base64.
  func bytes(_ name: Name) throws(ExchangeProblem) -> Data? {
    switch fields[name.rawValue] {
    case nil: return nil
    case .bytes(let data)?: return data
    case .text(let text)?:
      guard let data = Data(base64Encoded: text) else { throw ExchangeProblem("“\(name)” is no base64") }
      return data
    case let other?: throw wrong(name, other, "bytes")
    }
  }

  /// Numbers of 64 bits, or what is text of 16 hexadecimal digits.
  func hashes(_ name: Name) throws(ExchangeProblem) -> [UInt64] {
    guard let field = fields[name.rawValue] else { return [] }
    guard case .list(let list) = field else { throw wrong(name, field, "a list") }
    var hashes: [UInt64] = []
    for element in list {
      switch element {
      case .integer(let value):
        guard let hash = UInt64(exactly: value) else {
          throw ExchangeProblem("“\(name)” has \(value), which is no hash")
        }
        hashes.append(hash)
      case .text(let text):
        guard text.utf8.count == 16, text.utf8.first != UInt8(ascii: "+"), let hash = UInt64(text, radix: 16) else {
          throw ExchangeProblem("“\(name)” has “\(Formatting.key(text))”, and not 16 hexadecimal digits")
        }
        hashes.append(hash)
      default: throw wrong(name, element, "hashes")
      }
    }
    return hashes
  }

  private func wrong(_ name: Name, _ field: Field, _ expected: String) -> ExchangeProblem {
    ExchangeProblem("“\(name)” is \(field.kind), and has to be \(expected)")
  }
}
