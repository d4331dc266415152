import CBORCoding
import Foundation

/// The fields of an object or map, by types.
struct FieldReader {
  typealias Field = ExchangeFormat.Field

  private let fields: [String: Field]

  init(_ fields: [String: Field]) { self.fields = fields }

  /// A field that is not known says something about the entry, which would be lost.
  func refuse(otherThan names: Set<String>) throws(ExchangeProblem) {
    if let other = fields.keys.filter({ !names.contains($0) }).min() {
      throw ExchangeProblem("a field “\(Formatting.key(other))” is not known: a newer version may have written it")
    }
  }

  func has(_ name: String) -> Bool { fields[name] != nil }

  func required<Value>(_ name: String, _ value: Value?) throws(ExchangeProblem) -> Value {
    guard let value else { throw ExchangeProblem("there is no “\(name)”") }
    return value
  }

  func text(_ name: String) throws(ExchangeProblem) -> String? {
    switch fields[name] {
    case nil: return nil
    case .text(let text)?: return text
    case let other?: throw wrong(name, other, "text")
    }
  }

  /// Also one that is text: JSON's readers keep no more than 53 bits of a number.
  func integer<Value: FixedWidthInteger>(_ name: String) throws(ExchangeProblem) -> Value? {
    guard let field = fields[name] else { return nil }
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

  func double(_ name: String) throws(ExchangeProblem) -> Double? {
    switch fields[name] {
    case nil: return nil
    case .double(let value)?: return value
    // What other programs make of 1.0.
    case .integer(let value)?: return Double(value)
    case let other?: throw wrong(name, other, "a number")
    }
  }

  func bool(_ name: String) throws(ExchangeProblem) -> Bool? {
    switch fields[name] {
    case nil: return nil
    case .bool(let value)?: return value
    case let other?: throw wrong(name, other, "true or false")
    }
  }

  /// Bytes, or what is text in base64.
  func bytes(_ name: String) throws(ExchangeProblem) -> Data? {
    switch fields[name] {
    case nil: return nil
    case .bytes(let data)?: return data
    case .text(let text)?:
      guard let data = Data(base64Encoded: text) else { throw ExchangeProblem("“\(name)” is no base64") }
      return data
    case let other?: throw wrong(name, other, "bytes")
    }
  }

  /// Numbers of 64 bits, or what is text of 16 hexadecimal digits.
  func hashes(_ name: String) throws(ExchangeProblem) -> [UInt64] {
    guard let field = fields[name] else { return [] }
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

  private func wrong(_ name: String, _ field: Field, _ expected: String) -> ExchangeProblem {
    ExchangeProblem("“\(name)” is \(field.kind), and has to be \(expected)")
  }
}
