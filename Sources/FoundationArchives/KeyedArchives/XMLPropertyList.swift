import Foundation

/// Reads XML property lists without attributes, custom entities or deep nesting, in linear time and memory.
struct XMLPropertyList {
  private let bytes: [UInt8]
  private let maximumDepth: Int
  private var position = 0
  private var list = PropertyListNodes()

  private struct Container {
    let isDictionary: Bool
    var keys: [Int32] = []
    var values: [Int32] = []
    var isBalanced: Bool { !isDictionary || keys.count == values.count }
  }

  static func parse(_ bytes: [UInt8], maximumDepth: Int) throws(KeyedArchiveError) -> PropertyListNodes {
    var parser = XMLPropertyList(bytes: bytes, maximumDepth: maximumDepth)
    try parser.parse()
    return parser.list
  }

  private init(bytes: [UInt8], maximumDepth: Int) {
    self.bytes = bytes
    self.maximumDepth = maximumDepth
  }

  private func damaged() -> KeyedArchiveError {
    KeyedArchiveError("The bytes are no property list, or no part of one that is read here (byte \(position)).")
  }

  private mutating func parse() throws(KeyedArchiveError) {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    guard try nextTag() == "plist" else { throw damaged() }
    var containers: [Container] = []
    var top: Int32?
    while true {
      let tag = try nextTag()
      if tag == "/plist" { break }
      var finished: PropertyListNode?
      switch tag {
      case "dict", "array":
        guard containers.count < maximumDepth else { throw damaged() }
        containers.append(Container(isDictionary: tag == "dict"))
      case "dict/": finished = .dictionary(keys: [], values: [])
      case "array/": finished = .array([])
      case "/dict", "/array":
        guard let container = containers.popLast(), container.isDictionary == (tag == "/dict"), container.isBalanced
        else { throw damaged() }
        finished =
          container.isDictionary ? dictionary(container.keys, container.values) : .array(container.values)
      case "key":
        guard let last = containers.indices.last, containers[last].isDictionary, containers[last].isBalanced else {
          throw damaged()
        }
        containers[last].keys.append(try add(.string(try content(of: "key"))))
      default: finished = try leaf(tag)
      }
      guard let finished else { continue }
      let node = try add(finished)
      guard let last = containers.indices.last else {
        guard top == nil else { throw damaged() }
        top = node
        continue
      }
      guard !containers[last].isDictionary || containers[last].keys.count == containers[last].values.count + 1 else {
        throw damaged()
      }
      containers[last].values.append(node)
    }
    guard let top, containers.isEmpty else { throw damaged() }
    list.top = Int(top)
  }

  private mutating func add(_ node: PropertyListNode) throws(KeyedArchiveError) -> Int32 {
    guard list.nodes.count < Int(Int32.max) else { throw damaged() }
    list.nodes.append(node)
    return Int32(list.nodes.count - 1)
  }

  /// A dictionary, or a reference, which is written as one.
  private func dictionary(_ keys: [Int32], _ values: [Int32]) -> PropertyListNode {
    if keys.count == 1, case .string("CF$UID") = list[keys[0]], case .integer(let number) = list[values[0]],
      number >= 0, number <= Int64(UInt32.max)
    {
      return .uid(Int(number))
    }
    return .dictionary(keys: keys, values: values)
  }

  private mutating func leaf(_ tag: String) throws(KeyedArchiveError) -> PropertyListNode {
    switch tag {
    case "true/": return .boolean(true)
    case "false/": return .boolean(false)
    case "string/": return .string("")
    case "data/": return .data(Data())
    case "string": return .string(try content(of: tag))
    case "integer":
      let text = try trimmed(tag)
      if let value = Int64(text) { return .integer(value) }
      guard let value = UInt64(text) else { throw damaged() }
      return .unsigned(value)
    case "real":
      let text = try trimmed(tag)
      guard text.utf8.count <= 64, let value = Double(text == "+infinity" ? "inf" : text) else { throw damaged() }
      return .real(value)
    case "data":
      let text = try content(of: tag).utf8.filter { $0 > 0x20 }
      guard let data = Data(base64Encoded: Data(text)) else { throw damaged() }
      return .data(data)
    case "date":
      guard let seconds = Self.seconds(of: try trimmed(tag)) else { throw damaged() }
      return .date(seconds)
    default: throw damaged()
    }
  }

  /// Parses a property list date, `2001-01-01T00:00:00Z`, as seconds since 2001.
  private static func seconds(of text: String) -> TimeInterval? {
    // Foundation's style also accepts other forms and invalid dates.
    guard text.utf8.count == 20, text.utf8.last == UInt8(ascii: "Z") else { return nil }
    do {
      let date = try Date(text, strategy: .iso8601)
      return date.formatted(.iso8601) == text ? date.timeIntervalSinceReferenceDate : nil
    } catch {
      return nil
    }
  }

  private mutating func trimmed(_ tag: String) throws(KeyedArchiveError) -> String {
    String(decoding: try content(of: tag).utf8.filter { $0 > 0x20 }, as: UTF8.self)
  }

  /// Reads the next element's tag, skipping comments, declarations and white space.
  private mutating func nextTag() throws(KeyedArchiveError) -> String {
    while true {
      while position < bytes.count, bytes[position] <= 0x20 { position += 1 }
      guard position < bytes.count, bytes[position] == UInt8(ascii: "<") else { throw damaged() }
      if bytes[position...].starts(with: "<!--".utf8) {
        try skip(past: Array("-->".utf8))
        continue
      }
      let start = position + 1
      try skip(past: [UInt8(ascii: ">")])
      let tag = bytes[start..<position - 1]
      guard let first = tag.first, tag.count <= 256 else { throw damaged() }
      if first == UInt8(ascii: "?") || first == UInt8(ascii: "!") {
        // Document types with declarations are refused.
        guard !tag.contains(UInt8(ascii: "[")) else { throw damaged() }
        continue
      }
      var name = tag.prefix { $0 > 0x20 }
      if tag.last == UInt8(ascii: "/"), name.last != UInt8(ascii: "/") { name += [UInt8(ascii: "/")] }
      return String(decoding: name, as: UTF8.self)
    }
  }

  private mutating func skip(past end: [UInt8]) throws(KeyedArchiveError) {
    while position + end.count <= bytes.count {
      if bytes[position] == end[0], bytes[position..<position + end.count].elementsEqual(end) {
        position += end.count
        return
      }
      position += 1
    }
    throw damaged()
  }

  /// Reads the text of an element without children.
  private mutating func content(of tag: String) throws(KeyedArchiveError) -> String {
    let start = position
    while position < bytes.count, bytes[position] != UInt8(ascii: "<") { position += 1 }
    let text = bytes[start..<position]
    guard position < bytes.count, try nextTag() == "/" + tag, let decoded = String(validating: text, as: UTF8.self)
    else { throw damaged() }
    return text.contains(UInt8(ascii: "&")) ? try expanded(decoded) : decoded
  }

  private func expanded(_ text: String) throws(KeyedArchiveError) -> String {
    var result = ""
    var rest = text[...]
    while let ampersand = rest.firstIndex(of: "&") {
      result += rest[..<ampersand]
      rest = rest[rest.index(after: ampersand)...]
      guard let end = rest.prefix(12).firstIndex(of: ";") else { throw damaged() }
      switch rest[..<end] {
      case "lt": result += "<"
      case "gt": result += ">"
      case "amp": result += "&"
      case "quot": result += "\""
      case "apos": result += "'"
      case let number where number.hasPrefix("#"):
        let digits = number.dropFirst()
        let value = digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
        guard let scalar = value.flatMap(Unicode.Scalar.init) else { throw damaged() }
        result.unicodeScalars.append(scalar)
      default: throw damaged()
      }
      rest = rest[rest.index(after: end)...]
    }
    return result + rest
  }
}
