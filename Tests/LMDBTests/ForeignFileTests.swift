import LMDB
import Platform
import TestSupport
import Testing

/// Foreign files in place of LMDB's.
@Suite struct ForeignFileTests {
  let directory = TemporaryDirectory()

  enum Intruder: CaseIterable, Sendable { case link, danglingLink, hardLink, folder, fifo }

  @Test(arguments: ["data.mdb", "lock.mdb"], Intruder.allCases)
  func nothingButAFileOfItsOwnIsOpened(_ name: String, _ intruder: Intruder) throws {
    let own = directory.makeDirectory("own")
    let victim = directory.path + "/victim"
    let descriptor = creat(victim, 0o600)
    let content = [UInt8](repeating: 65, count: 10_000)
    #expect(write(descriptor, content, content.count) == content.count)
    #expect(fsync(descriptor) == 0)
    let path = own + "/" + name
    switch intruder {
    case .link: #expect(symlink(victim, path) == 0)
    case .danglingLink: #expect(symlink(victim + ".none", path) == 0)
    case .hardLink: #expect(link(victim, path) == 0)
    case .folder: #expect(mkdir(path, 0o700) == 0)
    case .fifo: #expect(mkfifo(path, 0o600) == 0)
    }
    for isReadOnly in [false, true] {
      do throws(LMDBError) {
        var options = Environment.Options()
        options.mapSize = 64 << 20
        options.isReadOnly = isReadOnly
        if isReadOnly, name == "lock.mdb" {
          let made = creat(own + "/data.mdb", 0o600)
          #expect(made >= 0)
          close(made)
        }
        try Environment.open(directory: own, options: options).close()
        Issue.record("opened")
      } catch {
        #expect(error.code == .foreignFile)
        #expect(error.message.contains(path))
      }
    }
    var status = stat()
    #expect(fstat(descriptor, &status) == 0)
    #expect(status.st_size == 10_000)
    #expect(access(victim + ".none", F_OK) != 0)
    #expect(openDescriptors(in: own) == 0)
    if name == "data.mdb" {
      let error = #expect(throws: DataFileError.self) {
        if try DataFileVerifier.verify(directory: own) == nil {
          throw DataFileError.unreadable(.init(code: .busy, operation: ""))
        }
      }
      switch (intruder, error) {
      // Reading a hard-linked file is harmless.
      case (.hardLink, .finding): break
      case (_, .unreadable(let error)): #expect(error.code == .foreignFile)
      default: Issue.record("\(String(describing: error))")
      }
    }
    close(descriptor)
    #expect(unlink(path) == 0 || rmdir(path) == 0)
    var options = Environment.Options()
    options.mapSize = 64 << 20
    let environment = try Environment.open(directory: own, options: options)
    try environment.put([1], [1])
    environment.close()
  }
}
