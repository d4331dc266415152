#if !canImport(Darwin)
  import Foundation

  /// Describes a value's place in an archive, for messages.
  enum ArchivePath {
    private static let longest = 16

    /// For example "root: Note.author → Person.names → NSArray[2]". The archive must be checked.
    static func description(of offset: Int, in bytes: UnsafeRawBufferPointer) -> String {
      var steps: [String] = []
      var reader = CBORReader(bytes)
      var name = ""
      do {
        while reader.offset <= offset, let step = try step(&reader, towards: offset, &name) { steps.append(step) }
      } catch {
        steps.append("…")
      }
      if steps.count > longest {
        let dropped = steps.count - longest
        steps.replaceSubrange(longest / 2..<longest / 2 + dropped, with: ["… \(dropped) more …"])
      }
      return steps.isEmpty ? "the top level" : steps.joined(separator: " → ")
    }

    static func kind(of initial: UInt8) -> String {
      switch CBORMajorType(rawValue: initial >> 5) {
      case .unsigned, .negative: "an integer"
      case .bytes: "bytes"
      case .text: "a string"
      case .array: "an array"
      case .map: "a dictionary"
      case .tag: "an object"
      case .simple where initial == 0xF4 || initial == 0xF5: "a boolean"
      case .simple where initial == 0xF6: "null"
      case .simple where initial == 0xF7: "nil"
      default: "a floating-point number"
      }
    }

    /// Moves from an item to its part at the offset. Returns `nil` if it has no parts or begins at the offset.
    ///
    /// - Parameter name: The class of the next array or map, if a name was just read.
    private static func step(
      _ reader: inout CBORReader, towards offset: Int, _ name: inout String
    ) throws(CBORError) -> String? {
      let start = reader.offset
      guard start < offset else { return nil }
      var head = try reader.readHead()
      // Tags and an object's name are part of the step to its contents.
      while head.major == .tag {
        guard reader.offset < offset else { return nil }
        if head.argument == CBORTag.object {
          guard try reader.readArrayHead() == 2 else { return nil }
          name = readable(try reader.readText())
        }
        guard reader.offset < offset else { return nil }
        head = try reader.readHead()
      }
      switch head.major {
      case .array:
        let type = name.isEmpty ? "NSArray" : name
        name = ""
        for index in 0..<Int(truncatingIfNeeded: head.argument) {
          let part = reader.offset
          try reader.skipChecked()
          if reader.offset > offset {
            reader.move(to: part)
            return "\(type)[\(index)]"
          }
        }
      case .map:
        let type = name.isEmpty ? (start == 0 ? "" : "NSDictionary") : name
        name = ""
        for _ in 0..<Int(truncatingIfNeeded: head.argument) {
          let key = try keyText(&reader)
          let part = reader.offset
          if part > offset { return "\(type).\(key)" }
          try reader.skipChecked()
          if reader.offset > offset {
            reader.move(to: part)
            return type.isEmpty ? key : "\(type).\(key)"
          }
        }
      default: break
      }
      return nil
    }

    private static func keyText(_ reader: inout CBORReader) throws(CBORError) -> String {
      let start = reader.offset
      let head = try reader.readHead()
      reader.rewind(to: start)
      switch head.major {
      case .text: return String(try reader.readText().prefix(40))
      case .unsigned:
        try reader.skipChecked()
        return "\(head.argument)"
      default:
        try reader.skipChecked()
        return "(key)"
      }
    }

    private static func readable(_ name: String) -> String { name.utf8.count <= 80 ? name : name.prefix(60) + "…" }
  }
#endif
