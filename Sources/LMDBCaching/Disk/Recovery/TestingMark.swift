/// For trials.
@_spi(Testing) public enum TestingMark {
  /// Marks whatever there is as sound, as if a medium had changed it without the system's knowledge.
  public static func write(in directory: String, durability: Durability = .ordered) throws(CacheError) {
    try calling("Marking \(directory)") { () throws(SystemError) in
      try CleanExitMark.write(in: directory, durability: durability, isSynchronized: true)
    }
  }
}
