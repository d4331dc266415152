import CBORCoding
import Platform

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
