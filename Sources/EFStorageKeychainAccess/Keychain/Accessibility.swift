/// When an item is readable on Apple platforms.
///
/// **Without effect on Linux**: the Secret Service only locks whole keyrings. The value is recorded as an attribute of
/// the item. The raw values are Apple's codes, as in KeychainAccess.
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
