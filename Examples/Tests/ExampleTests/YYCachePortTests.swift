import Testing

@Suite struct YYCachePortTests {
  @Test func objectsAreThereInTheNextRun() throws {
    let scratch = try Scratch()
    let first = try Program.run("yycache-port", scratch.path("cache"))
    #expect(first.status == 0)
    #expect(
      first.lines == [
        "Ada was here before: false", "Ada: 3 colours, seen 1 times", "Grace: 5 colours, seen 1 times",
        "Ada: 3 colours, seen 2 times", "note: for a moment", "note is removed: true",
        "2 objects on the disk, 2 in memory",
      ])

    let second = try Program.run("yycache-port", scratch.path("cache"))
    #expect(
      second.lines.prefix(3) == [
        "Ada was here before: true", "Ada: 3 colours, seen 4 times", "Grace: 5 colours, seen 2 times",
      ])
    // The previous run removed everything at its end.
    let third = try Program.run("yycache-port", scratch.path("cache"))
    #expect(third.lines.suffix(3) == ["0 of 2 removed", "2 of 2 removed", "all removed: true"])
    #expect(try Program.run("yycache-port", scratch.path("cache")).lines == first.lines)
  }

  @Test func whatIsNoDirectoryIsAnError() throws {
    #expect(try Program.run("yycache-port").status == 64)
    #expect(try Program.run("yycache-port", "/proc/self/exe").status == 73)
  }
}
