import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// A damaged journal loses its content from the damage on, and nothing else.
@Suite struct JournalFileTests {
  let directory = CacheDirectory()

  /// The files of a process that was killed after some writes, and its journal.
  func crashed(_ write: (LMDBCache) throws -> Void) throws -> (CacheDirectory, journal: String) {
    let cache = try directory.open {
      neverCommitting(&$0)
      $0.disk.journalSize = 64 << 10
    }
    try cache.set("committed", forKey: "base")
    try cache.set("base", forKey: "key2")
    try cache.flush()
    try write(cache)
    let copy = directory.crashed(cache)
    try cache.close()
    return (copy, copy.journals[0])
  }

  static func contents(_ directory: CacheDirectory) throws -> [String: String] {
    let cache = try directory.open()
    var contents: [String: String] = [:]
    for entry in try cache.entries() {
      contents[entry.key] = try cache.value(String.self, forKey: entry.key) ?? "(gone)"
    }
    #expect(try cache.count == contents.count)
    try cache.close()
    // A file without a journal's name or header is kept; an unreadable journal is renamed.
    for name in directory.journals where name != JournalName.folder + "/" + JournalFolder.damagedName {
      let isNamedSo = JournalName.identifier(of: (name as NSString).lastPathComponent) != nil
      #expect(!isNamedSo || !JournalFile.isOurs(Array(directory.contents(name).prefix(8))))
    }
    return contents
  }

  /// The frames of the segment in use.
  static func frames(_ journal: Data) -> [(range: Range<Int>, frame: [UInt8])] {
    journal.withBytes { bytes in
      let image = JournalImage.read(bytes)!
      return image.frames.map { (image.range(of: $0), Array(bytes[image.range(of: $0)])) }
    }
  }

  @Test func aTornTailIsEveryByteOfTheLastFrameTornOff() throws {
    let (crashed, name) = try crashed { cache in
      try cache.set("one", forKey: "key1")
      try cache.set("two", forKey: "key2")
    }
    let whole = crashed.contents(name)
    let last = Self.frames(whole).last!.range
    for cut in last {
      var torn = whole
      for index in cut..<last.upperBound { torn[index] = 0 }
      if torn == whole { continue }
      let copy = crashed.copy()
      copy.write(torn, to: name)
      #expect(try Self.contents(copy) == ["base": "committed", "key1": "one", "key2": "base"], "cut at \(cut)")
    }
  }
}
