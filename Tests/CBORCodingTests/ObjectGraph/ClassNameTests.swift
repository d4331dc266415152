import Foundation
import FoundationObjects
import TestSupport
import Testing

@testable import CBORCoding

private final class FilePrivate: Numbered {}

/// Archived as its superclass.
private final class Stand_in: Box {
  override var classForCoder: AnyClass { Box.self }
}

/// Says that it is archived as an array.
private final class Pretender: Box {
  override var classForCoder: AnyClass { NSArray.self }
}

/// Uses the keys of Foundation's own arrays.
final class NaiveArray: NSArray {
  required init(objects: UnsafePointer<AnyObject>?, count: Int) { super.init(objects: nil, count: 0) }
  required convenience init(arrayLiteral elements: Any...) { self.init(objects: nil, count: 0) }
  required convenience init?(coder: NSCoder) { self.init(objects: nil, count: 0) }
  override var count: Int { 0 }
  override func encode(with coder: NSCoder) { coder.encode(1 as Int, forKey: "NS.objects") }
}

@Suite struct ClassNameTests {
  @Test func names() throws {
    #expect(ClassName.name(of: UnitLength.self) == "NSUnitLength")
    #expect(ClassName.name(of: Note.self) == "TestSupport.Note")
    #expect(ClassName.name(of: Namespace.Nested.self) == "15CBORCodingTests9NamespaceO6NestedC")
    #expect(ClassName.name(of: Namespace.Generic<Int>.self) == "15CBORCodingTests9NamespaceO7GenericCy_SiG")
    for type in [Note.self, Namespace.Nested.self, Namespace.Generic<String>.self, ForeignBox.self] as [AnyClass] {
      #expect(ClassName.name(of: type).flatMap { ClassName.find($0) } == type)
    }
    let decoder = try CBORKeyedUnarchiver(forReadingFrom: try archive(NSArray()))
    #expect(decoder.version(forClassName: "NSArray") == 0)
    for name in ["", "$\u{0}.", "\u{1}abcd", "NSNowhere"] {
      #expect(decoder.version(forClassName: name) == NSNotFound)
    }
  }

  /// The runtime reads bytes below the space as offsets into memory.
  @Test(arguments: [
    "", ".", "..", "A", "A.", ".B", "A.B.C", "Foundation.NSArray", "NSArray", "NSFormatter", "Swift.Int", "Si", "SS",
    "CBORCodingTests.Nobody", "15CBORCodingTests9NamespaceO", "\u{1}abcd", "\u{2}\u{0}\u{0}\u{0}\u{0}", "4\u{1}bcd",
    "11TestSupport4NoteC", "TestSupport.Note ", "$s11TestSupport4NoteC", "10Foundation7NSArrayC",
    "15CBORCodingTests9NamespaceO7GenericCy_G", "99999999999999999999", "0", "CBORCodingTests.Namespace",
  ]) func namesThatAreNoneOfOurs(_ name: String) {
    #expect(ClassName.find(name) == nil)
    #expect(ClassName.find(name + String(repeating: "y", count: 2000)) == nil)
  }

  @Test func nestedGenericAndForeignClasses() throws {
    for object in [Namespace.Nested(5), Namespace.Generic<[String]>(5)] {
      let back = try #require(try roundTrip(object) as? Numbered)
      #expect(back.number == 5 && type(of: back) == type(of: object))
    }
    let foreign = ForeignBox(9)
    #expect((try roundTrip(foreign) as? ForeignBox)?.number == 9)
    for object in [
      foreign, NSArray(array: [foreign]), NSMutableArray(array: [foreign]), NSDictionary(dictionary: ["a": foreign]),
    ] as [Any] {
      let value = (try roundTrip(Box(object)) as? Box)?.value
      let element = (value as? NSArray)?.object(at: 0) ?? (value as? NSDictionary)?.object(forKey: "a") ?? value
      #expect((element as? ForeignBox)?.number == 9)
    }
  }

  @Test func aPrivateClassNeedsAName() throws {
    let error = message { _ = try archive([FilePrivate(5)]) }
    #expect(error.contains("FilePrivate") && error.contains("setClassName"))
    let archiver = CBORKeyedArchiver(requiringSecureCoding: true)
    archiver.setClassName("Private", for: FilePrivate.self)
    archiver.encode(FilePrivate(5), forKey: "root")
    let data = archiver.encodedData
    #expect(message { _ = try unarchive(data) }.contains("\"Private\" is unknown"))
    // A class may have been renamed: another one takes its place.
    for type in [FilePrivate.self, Namespace.Nested.self] as [Numbered.Type] {
      let unarchiver = try CBORKeyedUnarchiver(forReadingFrom: data)
      unarchiver.setClass(type, forClassName: "Private")
      let back = unarchiver.decodeObject(of: Numbered.self, forKey: "root")
      #expect(back?.number == 5 && back.map { Swift.type(of: $0) == type } == true)
    }
  }

  @Test func namesForAllCoders() throws {
    final class Local: Numbered {}
    CBORKeyedArchiver.setClassName("a local class", for: Local.self)
    CBORKeyedUnarchiver.setClass(Local.self, forClassName: "a local class")
    defer {
      CBORKeyedArchiver.setClassName(nil, for: Local.self)
      CBORKeyedUnarchiver.setClass(nil, forClassName: "a local class")
    }
    #expect(CBORKeyedArchiver.className(for: Local.self) == "a local class")
    #expect(CBORKeyedUnarchiver.class(forClassName: "a local class") == Local.self)
    #expect((try roundTrip(Local(5)) as? Local)?.number == 5)
  }

  @Test func classesThatAreArchivedAsOthers() throws {
    #expect(try type(of: #require(try roundTrip(Stand_in(5)))) == Box.self)
    #expect(message { _ = try archive(Pretender(5)) }.contains("which is not a superclass"))
    let unarchiver = try CBORKeyedUnarchiver(forReadingFrom: archive(Old()))
    unarchiver.requiresSecureCoding = false
    #expect(unarchiver.decodeObject(forKey: "root") is ForeignBox)
    // Replacements, the same one each time.
    #expect(try roundTrip(Replaced("text")) as? NSString == "text" && roundTrip(Replaced(nil)) == nil)
    let replaced = Replaced(Box(1))
    let pair = FoundationElements.elements(
      of: try #require(try roundTrip(NSArray(array: [replaced, replaced])) as? NSArray))
    #expect(pair[0] is Box && pair[0] as? Box === pair[1] as? Box)
  }

  /// Foundation reads such keys only from its own unarchiver; with any other it traps.
  @Test func keysOfFoundationsInASubclass() throws {
    #expect(message { _ = try archive(NaiveArray(objects: nil, count: 0)) }.contains("classForCoder"))
    let name = "CBORCodingTests.NaiveArray"
    let bytes = [UInt8](hex: "a164726f6f74d81b82781a") + name.utf8 + [UInt8](hex: "a16a4e532e6f626a6563747380")
    #expect(message { _ = try unarchive(Data(bytes)) }.contains("only Foundation's own unarchiver reads"))
  }
}

private final class Replaced: NSObject, NSCoding {
  let replacement: Any?
  init(_ replacement: Any?) { self.replacement = replacement }
  override func replacementObject(for coder: NSCoder) -> Any? { replacement }
  func encode(with coder: NSCoder) {}
  init?(coder: NSCoder) { nil }
}

final class Old: NSObject, NSCoding {
  override init() {}
  func encode(with coder: NSCoder) { coder.encode(5 as Int, forKey: "number") }
  init?(coder: NSCoder) { nil }
  override class func classForKeyedUnarchiver() -> AnyClass { ForeignBox.self }
}
