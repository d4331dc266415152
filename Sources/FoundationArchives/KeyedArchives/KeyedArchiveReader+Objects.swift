#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  extension KeyedArchiveReader {
    func read(_ node: PropertyListNode) throws(KeyedArchiveError) -> AnyObject? {
      guard case .uid(let number) = node else { return try plain(node) }
      if graph.isNil(number) { return nil }
      let value = try graph.object(number)
      switch states[number] {
      case .read(let object, let weight, let isFragile, let levels):
        guard depth.refer(levels: levels) else {
          throw KeyedArchiveError("References lead deeper than \(GraphDepth.maximum) levels.")
        }
        budget.countAgain(weight: weight, isFragile: isFragile)
        return object
      case .beingRead:
        throw KeyedArchiveError(
          "There is a cycle of objects: one refers to another whose init(coder:) has not returned.")
      case .unread: break
      }
      let (mark, beginning) = (budget.mark, depth.begin())
      states[number] = .beingRead
      let object: AnyObject
      if case .dictionary = value { object = try coded(value) } else { object = try plain(value) }
      states[number] = .read(
        object, weight: budget.weight(since: mark), isFragile: budget.isFragile(since: mark),
        levels: depth.end(beginning))
      return object
    }

    private func plain(_ node: PropertyListNode) throws(KeyedArchiveError) -> AnyObject {
      budget.count(1)
      switch node {
      case .string(let text):
        budget.count(text.utf8.count >> 6)
        return NSString(string: text)
      case .boolean(let value): return NSNumber(value: value)
      case .integer(let value): return NSNumber(value: Int(value))
      case .unsigned(let value): return NSNumber(value: value)
      case .real(let value): return NSNumber(value: value)
      case .date(let seconds): return NSDate(timeIntervalSinceReferenceDate: seconds)
      case .data(let data):
        budget.count(data.count >> 6)
        return data.withUnsafeBytes { NSData(bytes: $0.baseAddress, length: $0.count) }
      case .uid, .array, .dictionary:
        throw KeyedArchiveError("There is a reference or a collection of the archive's own in place of an object.")
      }
    }

    private func coded(_ value: PropertyListNode) throws(KeyedArchiveError) -> AnyObject {
      guard let fields = try fields(of: value), let reference = fields["$class"],
        case .uid(let number) = graph.list[reference]
      else { throw KeyedArchiveError("There is an object without a class, or with a key twice.") }
      let described = try described(number)
      if let permitted, !permitted.contains(described.type) {
        throw KeyedArchiveError("An object of class \(described.type) is not allowed.")
      }
      budget.count(1)
      try enter()
      let outer = frame
      frame = Frame(fields: fields)
      defer {
        frame = outer
        leave()
      }
      let object = try make(described)
      if let failure { throw Self.wrapped(failure) }
      guard let object else { throw KeyedArchiveError("An object of class \(described.type) cannot be made.") }
      return object
    }

    private func make(_ described: KeyedArchiveClass) throws(KeyedArchiveError) -> AnyObject? {
      switch described.kind {
      case .foundation(let decoding): return try decoding.decode(self)
      case .coded(let type):
        if described.extendsFoundation, frame.fields.keys.contains(where: { $0.hasPrefix("NS.") }) {
          throw KeyedArchiveError(
            """
            The superclass of \(described.type) decodes itself from Foundation's own unarchiver only; read and archive \
            such objects as objects of a class that holds what the superclass held.
            """)
        }
        if let networking = NetworkingClass.ancestor(of: described.type),
          !NetworkingClass.isComplete(networking, self)
        {
          return nil
        }
        return type.init(coder: self).map { $0 as AnyObject }
      }
    }

    private static func wrapped(_ error: any Error) -> KeyedArchiveError {
      error as? KeyedArchiveError ?? KeyedArchiveError("An object could not be decoded: \(error)")
    }

    /// The class that an object of the archive describes.
    private func described(_ number: Int) throws(KeyedArchiveError) -> KeyedArchiveClass {
      if let known = classes[number] { return known }
      guard let fields = try fields(of: graph.object(number)), let entry = fields["$classname"],
        case .string(let name) = graph.list[entry]
      else { throw KeyedArchiveError("There is something else where a class was expected.") }
      guard let found = KeyedArchiveClass.find(name) else {
        throw KeyedArchiveError(
          """
          The class \"\(name.prefix(60))\" is unknown here: it was renamed or moved, is not linked in, or is one of \
          Foundation's that cannot be read. NSKeyedUnarchiver.setClass(_:forClassName:) gives the name another class.
          """)
      }
      classes[number] = found
      return found
    }
  }
#endif
