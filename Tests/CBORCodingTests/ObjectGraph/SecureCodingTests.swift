import Foundation
import TestSupport
import Testing

@testable import CBORCoding

/// Records that its `init(coder:)` ran.
final class Tripwire: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  static let runs = Guarded(0)
  override init() {}
  func encode(with coder: NSCoder) {}
  init?(coder: NSCoder) { Self.runs { $0 += 1 } }
}

@Suite(.serialized) struct SecureCodingTests {
  private func root(_ object: Any, of classes: [AnyClass]) throws -> Any? {
    let data = try CBORKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
    return try CBORKeyedUnarchiver.unarchivedObject(ofClasses: classes, from: data)
  }

  /// Subclasses of allowed classes are allowed. Simple values in collections are too; objects are not.
  @Test func onlyAllowedClassesAreDecoded() throws {
    let rows: [(Any, [AnyClass], String)] = [
      (Note(title: "t", count: 1), [Note.self], ""),
      (Note(title: "t", count: 1), [Box.self], "class TestSupport.Note is not allowed"),
      (Note(title: "t", count: 1), [], "not allowed"), (Namespace.Nested(1), [Numbered.self], ""),
      (Numbered(1), [Namespace.Nested.self], "CBORCodingTests.Numbered"),
      (NSMutableArray(array: [1]), [NSArray.self], ""),
      (NSArray(array: [1]), [NSMutableArray.self], "NSArray"), (NSDecimalNumber(string: "1.5"), [NSValue.self], ""),
      (["text", 1, 2.5, Data([1])] as [Any], [NSArray.self], ""), ([Date()], [NSArray.self], "NSDate is not allowed"),
      ([UUID()], [NSArray.self], "NSUUID is not allowed"), ([[1]], [NSSet.self], "NSArray is not allowed"),
      (["a": ["b": 1]], [NSArray.self], "NSDictionary is not allowed"),
      ([["b": 1]], [NSArray.self, NSDictionary.self], ""), ("text", [NSNumber.self], "NSString is not allowed"),
    ]
    for (object, classes, expected) in rows {
      let error = message {
        let back = try root(object, of: classes) as? NSObject
        #expect(classes.contains { back?.isKind(of: $0) == true })
      }
      #expect(expected.isEmpty ? error.isEmpty : error.contains(expected), "\(object) \(error)")
    }
  }

  @Test func initOfAForbiddenClassIsNeverRun() throws {
    let before = Tripwire.runs.current
    for object in [Tripwire(), [Tripwire()], ["a": Tripwire()], Box(Tripwire()), NSSet(array: [Tripwire()])] as [Any] {
      let classes: [AnyClass] = [NSArray.self, NSDictionary.self, NSSet.self, NSString.self, Box.self]
      #expect(message { _ = try root(object, of: classes) }.contains("Tripwire is not allowed"))
    }
    #expect(Tripwire.runs.current == before)
    #expect(try root([Tripwire()], of: [NSArray.self, Tripwire.self]) is NSArray)
    #expect(Tripwire.runs.current == before + 1)
  }

  @Test func aClassWithoutSecureCodingIsAnError() throws {
    let expected = "InsecureBox does not conform to NSSecureCoding"
    #expect(message { _ = try root(InsecureBox(1), of: [InsecureBox.self]) }.contains(expected))
    let data = try archive(InsecureBox(1))
    let error = message { _ = try CBORKeyedUnarchiver.unarchivedObject(ofClass: InsecureBox.self, from: data) }
    #expect(error.contains(expected))
    #expect((try unarchive(data) as? InsecureBox)?.value as? Int == 1)
  }

  /// Encodes and decodes a ``Scripted`` with secure coding.
  private func scripted(
    of classes: [AnyClass], _ encode: @escaping (NSCoder) -> Void, _ decode: @escaping (NSCoder) -> Bool
  ) -> String {
    Scripted.encode = encode
    Scripted.decode = decode
    defer {
      Scripted.encode = { _ in }
      Scripted.decode = { _ in true }
    }
    return message {
      let back = try root(Scripted(), of: classes)
      #expect(back is Scripted)
    }
  }

  @Test func anObjectGoesByItsOwnClasses() {
    let encode: (NSCoder) -> Void = {
      $0.encode([Note(title: "t", count: 1)] as Any?, forKey: "notes")
      $0.encode(UUID() as Any?, forKey: "uuid")
    }
    let error = scripted(of: [Scripted.self], encode) { coder in
      #expect(coder.requiresSecureCoding && coder.allowedClasses?.count == 1)
      let notes = coder.decodeObject(of: [NSArray.self, Note.self], forKey: "notes") as? NSArray
      #expect(notes?.count == 1)
      return coder.decodeObject(of: NSUUID.self, forKey: "uuid") != nil
    }
    #expect(error.isEmpty)
    // Without its own list it inherits the enclosing one.
    let decode: (NSCoder) -> Bool = { $0.decodeObject(forKey: "uuid") != nil }
    #expect(scripted(of: [Scripted.self], encode, decode).contains("NSUUID is not allowed"))
    #expect(scripted(of: [Scripted.self, NSUUID.self], encode, decode).isEmpty)
  }

  /// An object decoded where its class is allowed, then referred to where it is not.
  @Test func sharedObjectsAreCheckedWhereTheyAreReferredTo() {
    let note = Note(title: "t", count: 1)
    let notes = NSArray(array: [note])
    let all: [AnyClass] = [NSArray.self, NSDictionary.self, NSSet.self, NSOrderedSet.self, Note.self]
    for (object, second, isAllowed) in [
      (note, [NSUUID.self], false), (note, [Note.self], true), (notes, [NSArray.self], false),
      (notes, [NSArray.self, Note.self], true), (NSArray(array: [notes]), [NSArray.self, NSUUID.self], false),
      (NSDictionary(dictionary: ["a": notes]), [NSDictionary.self, NSArray.self], false),
      (NSDictionary(dictionary: ["a": notes]), [NSDictionary.self, NSArray.self, Note.self], true),
      (NSOrderedSet(array: [note]), [NSOrderedSet.self], false), (NSSet(array: [note]), [NSSet.self], false),
    ] as [(NSObject, [AnyClass], Bool)] {
      let error = scripted(of: [Scripted.self]) {
        $0.encode(object, forKey: "first")
        $0.encode(object, forKey: "second")
      } _: {
        $0.decodeObject(of: all, forKey: "first") != nil && $0.decodeObject(of: second, forKey: "second") != nil
      }
      #expect(isAllowed ? error.isEmpty : error.contains("not allowed"), "\(object) \(error)")
    }
  }

  /// Looking up a generic class by name instantiates it, so only requested classes are looked up.
  @Test func genericClassesAreFoundIfTheyAreAllowed() throws {
    let object = Namespace.Generic<Int16>(5)
    #expect((try root(object, of: [Namespace.Generic<Int16>.self]) as? Namespace.Generic<Int16>)?.number == 5)
    let data = emptyObject(ofClass: "15CBORCodingTests9NamespaceO7GenericCy_s5Int32VG")
    let error = message { _ = try CBORKeyedUnarchiver.unarchivedObject(ofClass: Tripwire.self, from: data) }
    #expect(error.contains("is unknown here"))
  }

  /// An archive of an object without fields.
  private func emptyObject(ofClass name: String) -> Data {
    let object = CBORItem.tag(CBORTag.object, .array([.text(name), .map([])]))
    return Data(CBORItem.map([(.text("root"), object)]).encoded)
  }

  @Test(arguments: [
    ("NSKeyedUnarchiver", CBORCodingError.Code.classUnknown), ("NSFormatter", .classUnknown),
    ("NSDateFormatter", .classUnknown), ("NSObject", .classUnknown), ("NSString", .decodingFailed),
    ("NSNumber", .decodingFailed), ("NSArray", .decodingFailed),
  ])
  func foundationsClassesAreThoseThatAreKnown(_ name: String, _ code: CBORCodingError.Code) {
    let data = emptyObject(ofClass: name)
    let error = #expect(throws: CBORCodingError.self) { try unarchive(data) }
    #expect(error?.code == code)
  }
}
