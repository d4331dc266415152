#if !canImport(Darwin)
  import Foundation

  extension KeyedArchiveReader {
    /// The value under a key of the current object; `nil` if it is missing or reading has failed.
    func node(forKey key: String) -> PropertyListNode? {
      guard isReading else { return nil }
      // The archiver's own keys begin with a dollar sign.
      return frame.fields[key.hasPrefix("$") ? "$" + key : key].map { graph.list[$0] }
    }

    func nextNode() -> PropertyListNode? {
      guard isReading else { return nil }
      guard let node = frame.fields["$\(frame.unkeyed)"] else {
        fail("A value without a key was asked for, and there are only \(frame.unkeyed).")
        return nil
      }
      frame.unkeyed += 1
      return graph.list[node]
    }

    /// The node of a value, after following a reference.
    private func resolved(_ node: PropertyListNode) -> PropertyListNode? {
      guard case .uid(let number) = node else { return node }
      if graph.isNil(number) { return nil }
      do { return try graph.object(number) } catch {
        if failure == nil { failure = error }
        return nil
      }
    }

    func integer<I: FixedWidthInteger>(forKey key: String, _ type: I.Type, atMost limit: I = I.max) -> I {
      guard let node = node(forKey: key) else { return 0 }
      return integer(node, type, atMost: limit)
    }

    func integer<I: FixedWidthInteger>(_ node: PropertyListNode, _ type: I.Type, atMost limit: I = I.max) -> I {
      var value: I?
      switch resolved(node) {
      case nil: return 0
      case .boolean(let boolean): value = boolean ? 1 : 0
      case .integer(let integer): value = I(exactly: integer)
      case .unsigned(let integer): value = I(exactly: integer)
      case .real(let number): value = I(exactly: number)
      default: break
      }
      if let value, value <= limit { return value }
      fail("There is something else where an integer of type \(type) was asked for.")
      return 0
    }

    func number(forKey key: String) -> Double { node(forKey: key).map { number($0) } ?? 0 }

    func number(_ node: PropertyListNode) -> Double {
      switch resolved(node) {
      case nil: return 0
      case .boolean(let boolean): return boolean ? 1 : 0
      case .integer(let integer): return Double(integer)
      case .unsigned(let integer): return Double(integer)
      case .real(let number): return number
      default:
        fail("There is something else where a number was asked for.")
        return 0
      }
    }

    func data(forKey key: String) -> Data? { node(forKey: key).flatMap { data($0) } }

    func data(_ node: PropertyListNode) -> Data? {
      switch resolved(node) {
      case nil: return nil
      case .data(let data): return data
      case .dictionary:
        if let data = value(node) as? NSData { return Data(bytes: data.bytes, count: data.length) }
      default: break
      }
      fail("There is something else where data was asked for.")
      return nil
    }

    package func string(forKey key: String) -> String? {
      guard let node = node(forKey: key) else { return nil }
      if case .string(let text) = node { return text }
      guard let object = value(node) else { return nil }
      if let string = object as? NSString { return string as String }
      fail("There is something else where a string was asked for.")
      return nil
    }

    func object<Object: AnyObject>(_ type: Object.Type, forKey key: String) -> Object? {
      guard let object = value(forKey: key) else { return nil }
      if let typed = object as? Object { return typed }
      fail("An object of class \(Swift.type(of: object)) was found where one of class \(type) was expected.")
      return nil
    }

    func value(forKey key: String) -> AnyObject? { node(forKey: key).flatMap { value($0) } }

    /// The object for a value; `nil` for nil or after a failure.
    func value(_ node: PropertyListNode) -> AnyObject? {
      guard isReading else { return nil }
      do { return try read(node) } catch {
        if failure == nil { failure = error }
        return nil
      }
    }
  }
#endif
