// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// Test money of a local chain: like USDC, it has 6 decimals. Anybody can mint it.
contract TestDollar is ERC20("USD Coin", "USDC") {
    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function mint(address[] calldata to, uint256 units) external {
        for (uint256 i = 0; i < to.length; i++) _mint(to[i], units);
    }

    /// Several transfers in one transaction, as exchanges send them.
    function transferMany(address[] calldata to, uint256[] calldata units) external {
        for (uint256 i = 0; i < to.length; i++) _transfer(msg.sender, to[i], units[i]);
    }
}
