import Foundation
import LMDB
import TestSupport
import Testing

/// Foreign files in place of LMDB's.
@Suite struct ForeignFileTests {
  let directory = TemporaryDirectory()

  enum Intruder: CaseIterable, Sendable { case link, danglingLink, hardLink, folder, fifo }

  @Test(arguments: ["data.mdb", "lock.mdb"], Intruder.allCases)
  func nothingButAFileOfItsOwnIsOpened(_ name: String, _ intruder: Intruder) throws {
    let own = directory.makeDirectory("own")
    let (victim, path) = (directory.path + "/victim", own + "/" + name)
    let content = Data(repeating: 65, count: 10_000)
    try content.write(to: URL(fileURLWithPath: victim))
    switch intruder {
    case .link: #expect(symlink(victim, path) == 0)
    case .danglingLink: #expect(symlink(victim + ".none", path) == 0)
    case .hardLink: #expect(link(victim, path) == 0)
    case .folder: #expect(mkdir(path, 0o700) == 0)
    case .fifo: #expect(mkfifo(path, 0o600) == 0)
    }
    for isReadOnly in [false, true] {
      if isReadOnly, name == "lock.mdb" { try Data().write(to: URL(fileURLWithPath: own + "/data.mdb")) }
      let error = #expect(throws: LMDBError.self) { try directory.open("own") { $0.isReadOnly = isReadOnly }.close() }
      #expect(error?.code == .foreignFile && error?.message.contains(path) == true)
    }
    if name == "data.mdb" {
      let error = #expect(throws: DataFileError.self) { _ = try DataFileVerifier.verify(directory: own) }
      switch (intruder, error) {
      // Reading a hard-linked file is harmless.
      case (.hardLink, .finding): break
      case (_, .unreadable(let error)): #expect(error.code == .foreignFile)
      default: Issue.record("\(String(describing: error))")
      }
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: victim)) == content)
    #expect(access(victim + ".none", F_OK) != 0 && directory.openFiles == 0)
    #expect(unlink(path) == 0 || rmdir(path) == 0)
    let environment = try directory.open("own")
    try environment.put([1], [1])
    environment.close()
    // A file of another program.
    if name == "data.mdb" {
      try content.write(to: URL(fileURLWithPath: path))
      #expect(code { () throws(LMDBError) in _ = try directory.open("own") } == .invalid)
      #expect(directory.openFiles == 0)
    }
  }
}
