import Foundation
import FoundationArchives
import Testing

/// Archives with plain data at the root, read without instantiating objects.
@Suite struct PlainContentTests {
  private func content(_ object: some NSObject & NSCoding) throws -> PlainContent? {
    try KeyedArchive.plainContent(of: archive(object))
  }

  @Test func whatFoundationArchivesHereIsRead() throws {
    #expect(try content(NSString("text")) == PlainContent(value: .string("text"), isExact: true))
    #expect(try content(NSNumber(value: 7)) == PlainContent(value: .integer(7), isExact: true))
    #expect(try content(NSNumber(value: false)) == PlainContent(value: .bool(false), isExact: true))
    #expect(try content(NSNumber(value: 0.5)) == PlainContent(value: .double(0.5), isExact: true))
    #expect(try content(NSNull()) == PlainContent(value: .null, isExact: true))
    let uuid = UUID()
    #expect(try content(uuid as NSUUID) == PlainContent(value: .uuid(uuid), isExact: true))
    let date = Date(timeIntervalSinceReferenceDate: 1.25)
    #expect(try content(date as NSDate) == PlainContent(value: .date(date), isExact: true))
    #expect(
      try content(NSArray(array: [NSString("a"), NSNull()]))
        == PlainContent(value: .array([.string("a"), .null]), isExact: true))
    #expect(
      try content(NSDictionary(object: NSNumber(value: 1), forKey: NSString("k")))
        == PlainContent(value: .dictionary([.init(key: "k", value: .integer(1))]), isExact: true))
  }

  @Test func whatIsMutableIsNotExact() throws {
    let data = Data([1, 2])
    #expect(try content(NSMutableData(data: data)) == PlainContent(value: .data(data), isExact: false))
    let inner = "<key>NS.objects</key><array><dict><key>CF$UID</key><integer>0</integer></dict></array>"
    #expect(try KeyedArchive.plainContent(of: xml(inner, "NSMutableArray")) == nil, "it has nil in it")
    #expect(
      try KeyedArchive.plainContent(of: xml("<key>NS.objects</key><array/>", "NSMutableArray"))
        == PlainContent(value: .array([]), isExact: false))
    #expect(try content(NSSet(object: NSString("a"))) == PlainContent(value: .array([.string("a")]), isExact: false))
  }

  @Test func otherClassesAreNotPlain() throws {
    #expect(try content(NSIndexSet(index: 1)) == nil)
    #expect(try content(NSArray(object: NSIndexSet(index: 1))) == nil)
    #expect(try content(NSDictionary(object: NSString("v"), forKey: NSNumber(value: 1))) == nil)
    #expect(try content(NSURL(string: "b", relativeTo: URL(string: "https://example.org/a"))!) == nil)
  }

  /// Apple's archiver's forms, where they differ.
  @Test(arguments: [
    ("<key>NS.time</key><real>-12.5</real>", "NSDate", PlainValue.date(Date(timeIntervalSinceReferenceDate: -12.5))),
    ("<key>NS.string</key><string>s</string>", "NSMutableString", .string("s")),
    ("<key>NS.data</key><data>AQI=</data>", "NSMutableData", .data(Data([1, 2]))),
    (
      "<key>NS.base</key><dict><key>CF$UID</key><integer>0</integer></dict><key>NS.relative</key>"
        + "<string>https://example.org</string>", "NSURL", .url(URL(string: "https://example.org")!)
    ),
  ])
  func whatApplesArchiverWritesIsRead(_ fields: String, _ name: String, _ expected: PlainValue) throws {
    #expect(try KeyedArchive.plainContent(of: xml(fields, name))?.value == expected)
  }

  @Test func anArchiveOfNilHasNoContent() throws {
    let text =
      "<plist><dict><key>$archiver</key><string>NSKeyedArchiver</string><key>$version</key><integer>100000</integer>"
      + "<key>$top</key><dict><key>root</key><dict><key>CF$UID</key><integer>0</integer></dict></dict>"
      + "<key>$objects</key><array><string>$null</string></array></dict></plist>"
    #expect(try KeyedArchive.plainContent(of: Data(text.utf8)) == nil)
  }

  @Test func aCircleHasNoContent() throws {
    let itself = "<key>NS.objects</key><array><dict><key>CF$UID</key><integer>1</integer></dict></array>"
    #expect(try KeyedArchive.plainContent(of: xml(itself, "NSArray")) == nil)
  }

  @Test func damageIsAnError() throws {
    let data = try archive(NSArray(array: [NSString("a"), NSString("b")]))
    for count in stride(from: 0, to: data.count, by: 3) {
      #expect(throws: KeyedArchiveError.self) { try KeyedArchive.plainContent(of: data.prefix(count)) }
    }
  }

  private func xml(_ fields: String, _ name: String) -> Data {
    Data(
      ("<plist><dict><key>$archiver</key><string>NSKeyedArchiver</string><key>$version</key><integer>100000</integer>"
        + "<key>$top</key><dict><key>root</key><dict><key>CF$UID</key><integer>1</integer></dict></dict>"
        + "<key>$objects</key><array><string>$null</string><dict>\(fields)<key>$class</key><dict><key>CF$UID</key>"
        + "<integer>2</integer></dict></dict><dict><key>$classname</key><string>\(name)</string></dict></array></dict>"
        + "</plist>").utf8)
  }
}
