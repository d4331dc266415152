import Foundation
import TestSupport
import Testing

@testable import CBORCoding

final class Link: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  var previous: Link?
  init(_ previous: Link?) { self.previous = previous }
  func encode(with coder: NSCoder) { coder.encode(previous, forKey: "previous") }
  init?(coder: NSCoder) { previous = coder.decodeObject(of: Link.self, forKey: "previous") }
}

/// Objects that are reached more than once, conditionally, or from themselves.
@Suite struct SharedObjectTests {
  static let shareable: [@Sendable () -> NSObject] = [
    { Box(1) }, { NSMutableString(string: "m") }, { NSMutableData(data: Data([1])) }, { NSArray(array: [1]) },
    { NSMutableArray(array: [1]) }, { NSDictionary(dictionary: ["a": 1]) },
    { NSMutableDictionary(dictionary: ["a": 1]) },
    { NSSet(array: [1]) }, { NSMutableSet(array: [1]) }, { NSCountedSet(array: [1]) }, { NSOrderedSet(array: [1]) },
    { NSMutableOrderedSet(array: [1]) }, { NSAttributedString(string: "a") }, { NSDateComponents() },
    { NSString(string: String(repeating: "x", count: 64)) }, { NSData(data: Data(repeating: 1, count: 64)) },
  ]

  @Test(arguments: 0..<shareable.count) func anObjectThatIsReachedTwiceIsOne(_ index: Int) throws {
    let make = Self.shareable[index]
    let object = make()
    // It is marked once, with the bytes D8 1C, which no value here contains.
    let data = try archive(NSArray(array: [Box(object), object, NSArray(array: [object]), Box(Box(object))]))
    #expect(data.indices.dropLast().count { data[$0] == 0xD8 && data[$0 + 1] == 28 } == 1)
    // Read in another order than written; the field "object" may never be read.
    let keys = ["early", "object", "array", "map", "box", "late"]
    for order in [keys, keys.reversed(), ["late", "early"], ["array"], ["map"]] {
      try scripted { coder in
        coder.encodeConditionalObject(make(), forKey: "never")
        coder.encodeConditionalObject(nil, forKey: "nil")
        coder.encodeConditionalObject(5, forKey: "value")
        coder.encodeConditionalObject(object, forKey: "early")
        coder.encode(object, forKey: "object")
        coder.encode(NSArray(array: [object]), forKey: "array")
        coder.encode(NSDictionary(dictionary: ["key": object]), forKey: "map")
        coder.encode(Box(object), forKey: "box")
        coder.encodeConditionalObject(object, forKey: "late")
        // Enough fields to need a longer head, which moves the bytes written before.
        for index in 0..<30 { coder.encode(index, forKey: "\(index)") }
      } _: { coder in
        for key in ["never", "nil"] { #expect(coder.decodeObject(forKey: key) == nil) }
        #expect(coder.decodeObject(forKey: "value") as? Int == 5 && coder.decodeInteger(forKey: "29") == 29)
        let read = order.map { key -> NSObject? in
          let value = coder.decodeObject(forKey: key)
          switch key {
          case "array": return (value as? NSArray).flatMap { FoundationElements.elements(of: $0).first as? NSObject }
          case "map": return (value as? NSDictionary)?.allValues.first as? NSObject
          case "box": return (value as? Box)?.value as? NSObject
          default: return value as? NSObject
          }
        }
        #expect(read.allSatisfy { $0 != nil && $0 === read[0] })
        #expect(read[0].map { ObjectIdentifier($0.classForCoder) } == ObjectIdentifier(object.classForCoder))
        // A decoded object is passed on immediately.
        var given: [NSObject?] = []
        for key in ["late", "nothing"] {
          (coder as! CBORKeyedUnarchiver).decodeObject(forKey: key) { given.append($0 as? NSObject) }
        }
        #expect(given.count == 2 && given[0] === read[0] && given[1] == nil)
      }
    }
  }

  @Test func objectsThatGoAwayAreNotMixedUp() throws {
    try scripted { coder in
      // Each is released before the next one is made, usually at the same address.
      for index in 0..<100 { coder.encode(Box(index), forKey: "\(index)") }
    } _: { coder in
      for index in 0..<100 {
        #expect((coder.decodeObject(of: [Box.self], forKey: "\(index)") as? Box)?.value as? Int == index)
      }
    }
  }

  // MARK: Cycles

  private func tree() -> TreeNode { TreeNode([TreeNode([TreeNode([])]), TreeNode([])]) }

  @Test func aCycleThroughInitIsAnErrorThatNamesThePath() throws {
    // A cycle that is never read does no harm.
    let back = try #require(try roundTrip(tree()) as? TreeNode)
    #expect(back.children.map(\.children.count) == [1, 0])
    TreeNode.link = { $0.parent = $1.decodeObject(of: TreeNode.self, forKey: "parent") }
    defer { TreeNode.link = { _, _ in } }
    let error = message { _ = try roundTrip(tree()) }
    #expect(error.contains("cycle") && error.contains("TreeNode.parent"))
    #expect(error.contains("TreeNode.children → NSArray[0] → CBORCodingTests.TreeNode.children → NSArray[0] → "))
  }

  @Test func aCycleIsClosedWhenTheObjectIsThere() throws {
    TreeNode.link = { node, coder in
      (coder as? CBORKeyedUnarchiver)?.decodeObject(forKey: "parent") { [weak node] in node?.parent = $0 as? TreeNode }
    }
    defer { TreeNode.link = { _, _ in } }
    let data = try CBORKeyedArchiver.archivedData(withRootObject: tree(), requiringSecureCoding: true)
    let back = try #require(try CBORKeyedUnarchiver.unarchivedObject(ofClass: TreeNode.self, from: data))
    #expect(back.parent == nil && back.children.count == 2 && back.children.allSatisfy { $0.parent === back })
    #expect(back.children[0].children[0].parent === back.children[0])
  }

  @Test func mutableCollectionsThatContainThemselves() throws {
    let array = NSMutableArray()
    let dictionary = NSMutableDictionary(dictionary: ["array": array])
    array.add(dictionary)
    array.add("last")
    let data = try archive(array)
    let back = try #require(try unarchive(data) as? NSMutableArray)
    let elements = FoundationElements.elements(of: back)
    #expect((elements[0] as? NSMutableDictionary)?.allValues.first as? NSMutableArray === back)
    #expect(elements[1] as? NSString == "last")
    // Secure decoding must not return an object that cannot be compared or printed.
    let error = message {
      _ = try CBORKeyedUnarchiver.unarchivedObject(ofClasses: [NSArray.self, NSDictionary.self], from: data)
    }
    #expect(error.contains("contains itself"))
    array.removeAllObjects()
    back.removeAllObjects()
    // An immutable array exists only after its elements.
    let inner = NSMutableArray()
    let outer = NSArray(array: [inner])
    inner.add(outer)
    #expect(message { _ = try roundTrip(outer) }.contains("cycle"))
    inner.removeAllObjects()
  }

  // MARK: Depth

  private static func nested(_ depth: Int) -> NSObject {
    (1..<depth).reduce(NSArray()) { array, _ in NSArray(array: [array]) }
  }
  private static func boxed(_ depth: Int) -> Box { (1..<depth).reduce(Box(nil)) { box, _ in Box(box) } }

  @Test func theDeepestNesting() throws {
    let depth = ObjectGraph.maximumDepth
    let archives = onThread(stack: 32 << 20) {
      for make in [Self.nested, Self.boxed] as [(Int) -> NSObject] {
        #expect(message { _ = try roundTrip(make(depth)) }.isEmpty)
        for deeper in [depth + 1, depth * 20] {
          #expect(message { _ = try archive(make(deeper)) }.contains("nest deeper than \(depth)"))
        }
      }
      return [Self.nested(depth), Self.boxed(depth)].map { object in try? archive(object) }
    }
    // A secondary thread has a sixteenth of the main thread's stack.
    let errors = onThread(stack: 512 << 10) {
      archives.map { data in message { _ = try unarchive(data ?? Data()) } }
        + [message { _ = try archive(Self.nested(depth)) }, message { _ = try archive(Self.boxed(depth)) }]
    }
    for error in errors { #expect(error.isEmpty || error.contains("the stack of this thread")) }
  }

  /// Each part of the chain is a deep array that ends with a reference to the previous part.
  @Test(arguments: [true, false]) func referencesDoNotLeadToAnyDepth(_ isSecure: Bool) throws {
    func read(_ parts: Int) throws -> NSArray? {
      let chain = (0..<parts).map { part in
        let end = part == 0 ? CBORItem.array([]) : .tag(29, .integer(Int128(part - 1)))
        return CBORItem.tag(28, (0..<400).reduce(end) { item, _ in .array([item]) })
      }
      let data = Data(CBORItem.map([(.text("root"), .array(chain))]).encoded)
      let coder = try CBORKeyedUnarchiver(forReadingFrom: data)
      coder.requiresSecureCoding = isSecure
      defer { coder.finishDecoding() }
      let root = coder.decodeObject(of: [NSArray.self], forKey: NSKeyedArchiveRootObjectKey) as? NSArray
      if let error = coder.error { throw error }
      return root
    }
    #expect(try read(25)?.count == 25)
    let error = #expect(throws: CBORCodingError.self) { try read(200) }
    #expect(error?.code == .tooDeep)
  }

  @Test func referencesAreNotWrittenToAnyDepth() throws {
    func archived(_ length: Int) throws -> Data {
      var links: [Link] = []
      for _ in 0..<length { links.append(Link(links.last)) }
      // Releasing it from the end avoids deep recursion.
      defer { for link in links { link.previous = nil } }
      return try archive(NSArray(array: links))
    }
    for length in [10, 1_000, 10_000] {
      let links = FoundationElements.elements(of: try #require(try unarchive(archived(length)) as? NSArray))
      #expect(links.count == length)
      for case let link as Link in links { link.previous = nil }
    }
    let error = #expect(throws: CBORCodingError.self) { try archived(25_000) }
    #expect(error?.code == .tooDeep || error?.message.contains("20000") == true)
  }

  // MARK: Threads

  /// Archivers on many threads share their class information and scratch memory.
  @Test func classesAreMetByAllThreadsAtOnce() {
    let failures = Guarded(0)
    concurrently(8) { thread in
      for number in thread * 1_000..<thread * 1_000 + 200 {
        // Classes that no other test uses.
        let unmet: [Numbered] = [
          Namespace.Generic<UInt128>(number), Namespace.Generic<[UInt128]>(number), Namespace.Generic<UInt128?>(number),
        ]
        let box = Box(NSNumber(value: number))
        let back = (try? unarchive(archive(NSArray(array: [box, unmet[number % 3], box])))) as? NSArray
        let first = back?.object(at: 0) as? Box
        let isSame = first?.value as? Int == number && back?.object(at: 2) as? Box === first
        if !isSame || (back?.object(at: 1) as? Numbered)?.number != number { failures { $0 += 1 } }
      }
    }
    #expect(failures.current == 0)
  }
}
