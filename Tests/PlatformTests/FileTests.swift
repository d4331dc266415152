import Platform
import Testing

@Suite struct FileTests {
  let folder = TemporaryFolder()

  @Test func bytesComeBack() throws {
    let file = try folder.directory.create("file", .exclusively)
    try file.write([1, 2, 3])
    try file.write([4, 5])
    try file.write([9], at: 1)
    #expect(try file.readToEnd(limit: 5) == [1, 9, 3, 4, 5])
    var two: [UInt8] = [0, 0]
    #expect(try file.read(&two, at: 3))
    #expect(two == [4, 5])
    #expect(try !file.read(&two, at: 4))
    try file.truncate(to: 1)
    #expect(try file.readToEnd(limit: 1) == [1])
    try file.preallocate(0..<100_000)
    #expect(try file.status().size == 100_000)
    #expect(try file.status().allocatedBytes >= 100_000)
    try file.synchronize()
    #expect(failure { () throws(SystemError) in try folder.directory.makes("file", .exclusively) }?.errno == EEXIST)
    #expect(try folder.directory.create("file", .ifMissing).status().size == 100_000)
    #expect(try folder.directory.create("file", .emptying).status().size == 0)
  }

  @Test func aFileThatIsTooLongIsRefused() throws {
    try folder.write(String(repeating: "x", count: 40_000), to: "file")
    let file = try folder.directory.create("file")
    #expect(try file.readToEnd(limit: 40_000).count == 40_000)
    #expect(
      failure { () throws(SystemError) in _ = try file.readToEnd(limit: 39_999) }?.finding == .tooLarge(limit: 39_999))
  }
}
