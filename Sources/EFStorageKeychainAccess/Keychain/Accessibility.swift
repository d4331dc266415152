/// When an item shall be readable, on Apple's platforms.
///
/// **Without effect on Linux**: the Secret Service locks whole keyrings, and knows no other rule. A value that is set
/// is recorded as an attribute of the item, and nothing enforces it.
///
/// The raw values are Apple's codes, as in KeychainAccess.
public enum Accessibility: String, Sendable, Hashable, CaseIterable {
  case whenUnlocked = "ak"
  case afterFirstUnlock = "ck"
  case always = "dk"
  case whenPasscodeSetThisDeviceOnly = "akpu"
  case whenUnlockedThisDeviceOnly = "aku"
  case afterFirstUnlockThisDeviceOnly = "cku"
  case alwaysThisDeviceOnly = "dku"
}

extension Accessibility: CustomStringConvertible {
  public var description: String {
    switch self {
    case .whenUnlocked: "WhenUnlocked"
    case .afterFirstUnlock: "AfterFirstUnlock"
    case .always: "Always"
    case .whenPasscodeSetThisDeviceOnly: "WhenPasscodeSetThisDeviceOnly"
    case .whenUnlockedThisDeviceOnly: "WhenUnlockedThisDeviceOnly"
    case .afterFirstUnlockThisDeviceOnly: "AfterFirstUnlockThisDeviceOnly"
    case .alwaysThisDeviceOnly: "AlwaysThisDeviceOnly"
    }
  }
}
