import Foundation
import FoundationObjects
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
      (Note(title: "t", count: 1), [], "not allowed"), (SpecialBox(nil), [Box.self], ""),
      (Box(nil), [SpecialBox.self], "CBORCodingTests.Box"), (NSMutableArray(array: [1]), [NSArray.self], ""),
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
    let error = message {
      _ = try CBORKeyedArchiver.archivedData(withRootObject: InsecureBox(1), requiringSecureCoding: true)
    }
    #expect(error.contains("InsecureBox does not conform to NSSecureCoding"))
    let data = try archive(InsecureBox(1))
    let error2 = message { _ = try CBORKeyedUnarchiver.unarchivedObject(ofClass: InsecureBox.self, from: data) }
    #expect(error2.contains("InsecureBox does not conform to NSSecureCoding"))
    #expect((try unarchive(data) as? InsecureBox)?.value as? Int == 1)
  }

  @Test func anObjectGoesByItsOwnClasses() throws {
    Scripted.encode = {
      $0.encode([Note(title: "t", count: 1)] as Any?, forKey: "notes")
      $0.encode(UUID() as Any?, forKey: "uuid")
    }
    nonisolated(unsafe) var notes: NSArray?
    nonisolated(unsafe) var allowed: [AnyClass]?
    Scripted.decode = { coder in
      allowed = coder.allowedClasses
      #expect(coder.requiresSecureCoding)
      notes = coder.decodeObject(of: [NSArray.self, Note.self], forKey: "notes") as? NSArray
      return coder.decodeObject(of: NSUUID.self, forKey: "uuid") != nil
    }
    defer {
      Scripted.encode = { _ in }
      Scripted.decode = { _ in true }
    }
    #expect(try root(Scripted(), of: [Scripted.self]) is Scripted)
    #expect(notes?.count == 1 && allowed?.count == 1 && allowed?.first == Scripted.self)
    // Without its own list it inherits the enclosing one.
    Scripted.decode = { $0.decodeObject(forKey: "uuid") != nil }
    #expect(message { _ = try root(Scripted(), of: [Scripted.self]) }.contains("NSUUID is not allowed"))
    #expect(try root(Scripted(), of: [Scripted.self, NSUUID.self]) is Scripted)
  }

  /// An object decoded where its class is allowed, then referred to where it is not.
  @Test func sharedObjectsAreCheckedWhereTheyAreReferredTo() throws {
    let notes = NSArray(array: [Note(title: "t", count: 1)])
    let nested = NSArray(array: [notes])
    for (object, second, isAllowed) in [
      (notes.object(at: 0), [NSUUID.self], false), (notes.object(at: 0), [Note.self], true),
      (notes, [NSArray.self], false),
      (notes, [NSArray.self, Note.self], true), (nested, [NSArray.self, NSUUID.self], false),
      (NSDictionary(dictionary: ["a": notes]), [NSDictionary.self, NSArray.self], false),
      (NSDictionary(dictionary: ["a": notes]), [NSDictionary.self, NSArray.self, Note.self], true),
      (NSOrderedSet(array: [notes.object(at: 0)]), [NSOrderedSet.self], false),
      (NSSet(array: [notes.object(at: 0)]), [NSSet.self], false),
    ] as [(Any, [AnyClass], Bool)] {
      Scripted.encode = {
        $0.encode(object, forKey: "first")
        $0.encode(object, forKey: "second")
      }
      Scripted.decode = { coder in
        let all: [AnyClass] = [NSArray.self, NSDictionary.self, NSSet.self, NSOrderedSet.self, Note.self]
        return coder.decodeObject(of: all, forKey: "first") != nil
          && coder.decodeObject(of: second, forKey: "second") != nil
      }
      let error = message { _ = try root(Scripted(), of: [Scripted.self]) }
      #expect(isAllowed ? error.isEmpty : error.contains("not allowed"), "\(object) \(error)")
    }
    Scripted.encode = { _ in }
    Scripted.decode = { _ in true }
  }

  /// Looking up a generic class by name instantiates it, so only requested classes are looked up.
  @Test func genericClassesAreFoundIfTheyAreAllowed() throws {
    let object = Namespace.Generic<Int16>(5)
    #expect((try root(object, of: [Namespace.Generic<Int16>.self]) as? Namespace.Generic<Int16>)?.number == 5)
    let name = "15CBORCodingTests9NamespaceO7GenericCy_s5Int32VG"
    #expect(ClassName.isGeneric(name))
    let bytes = Data(hex: "a164726f6f74d81b827830") + Data(name.utf8) + Data(hex: "a0")
    let error = message { _ = try CBORKeyedUnarchiver.unarchivedObject(ofClass: NSObject_Coded.self, from: bytes) }
    #expect(error.contains("is unknown here"))
    let archiver = CBORKeyedArchiver(requiringSecureCoding: true)
    archiver.setClassName("Elsewhere.Gone", for: Note.self)
    archiver.encode(Note(title: "t", count: 1), forKey: "root")
    for isSecure in [true, false] {
      let unarchiver = try CBORKeyedUnarchiver(forReadingFrom: archiver.encodedData)
      unarchiver.requiresSecureCoding = isSecure
      #expect(unarchiver.decodeObject(of: Note.self, forKey: "root") == nil)
      #expect("\(unarchiver.error!)".contains("\"Elsewhere.Gone\" is unknown"))
    }
  }

  @Test(arguments: [
    ("NSKeyedUnarchiver", CBORCodingError.Code.classUnknown), ("NSFormatter", .classUnknown),
    ("NSDateFormatter", .classUnknown), ("NSObject", .classUnknown), ("NSString", .decodingFailed),
    ("NSNumber", .decodingFailed), ("NSArray", .decodingFailed),
  ])
  func foundationsClassesAreThoseThatAreKnown(_ name: String, _ code: CBORCodingError.Code) throws {
    var writer = CBORWriter()
    writer.writeMapHead(count: 1)
    writer.writeText("root")
    writer.writeTag(CBORTag.object)
    writer.writeArrayHead(count: 2)
    writer.writeText(name)
    writer.writeMapHead(count: 0)
    let data = writer.data
    let error = #expect(throws: CBORCodingError.self) { try unarchive(data) }
    #expect(error?.code == code)
  }
}

private class NSObject_Coded: NSObject, NSSecureCoding {
  class var supportsSecureCoding: Bool { true }
  func encode(with coder: NSCoder) {}
  required init?(coder: NSCoder) {}
}
